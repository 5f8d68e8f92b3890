import { DependencyError, type InternalClient, unexpected, withQuery } from "@kapi/http";

import type { Commands } from "../../domain/console-ports.ts";

const OK = 200;
const CONTENT_TOO_LARGE = 413;
const LINE_FEED = 0x0a;

/** The commands of command-status over its internal routes, for people to look at. */
export function commandsOver(client: InternalClient): Commands {
  return {
    list: async (organizationId, serverId, query) => {
      const path = `/internal/servers/${serverId}/commands`;
      const { status, body } = await client.request("GET", withQuery(path, { organizationId, ...query }));
      if (status === OK) return body;
      if (status !== CONTENT_TOO_LARGE) throw unexpected(path, status);
      const stream = await client.stream("GET", withQuery(`${path}/stream`, { organizationId, ...query }));
      if (stream.status === OK) return stream.body;
      stream.body.destroy();
      throw unexpected(path, stream.status);
    },
    read: async (organizationId, commandId) => {
      const path = "/internal/commands/read";
      const reads = [{ organizationId, commandId }];
      const { status, body } = await client.request("POST", path, { reads }, { repeatable: true });
      if (status !== OK) throw unexpected(path, status);
      // One line for the one that was asked for; an empty one where there is none.
      const end = body.indexOf(LINE_FEED);
      if (end < 0) throw new DependencyError("command-status answered no line");
      return end === 0 ? null : body.subarray(0, end);
    },
  };
}
