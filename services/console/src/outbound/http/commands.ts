import { COMMAND_STATUS_ROUTES, pathOf } from "@kapi/contracts";
import { callRouteRaw, DependencyError, type InternalClient, streamRoute, unexpectedStatus } from "@kapi/http";

import type { Commands } from "../../domain/ports.ts";

const OK = 200;
const CONTENT_TOO_LARGE = 413;
const LINE_FEED = 0x0a;
const { listCommands, readCommands, streamCommands } = COMMAND_STATUS_ROUTES;

/** Reads commands from command-status over internal HTTP. */
export function createCommands(client: InternalClient): Commands {
  return {
    list: async (organizationId, serverId, query) => {
      const path = pathOf(listCommands, { params: { serverId } });
      const asked = { params: { serverId }, query: { organizationId, ...query } };
      const { status, body } = await callRouteRaw(client, listCommands, asked);
      if (status === OK) return body;
      if (status !== CONTENT_TOO_LARGE) throw unexpectedStatus(path, status);
      const stream = await streamRoute(client, streamCommands, asked);
      if (stream.status === OK) return stream.body;
      stream.body.destroy();
      throw unexpectedStatus(path, stream.status);
    },
    read: async (organizationId, commandId) => {
      const asked = { body: { reads: [{ organizationId, commandId }] } };
      const { status, body } = await callRouteRaw(client, readCommands, asked, { repeatable: true });
      if (status !== OK) throw unexpectedStatus(readCommands.path, status);
      // One line per requested id; empty: no such command.
      const end = body.indexOf(LINE_FEED);
      if (end < 0) throw new DependencyError("command-status answered no line");
      return end === 0 ? null : body.subarray(0, end);
    },
  };
}
