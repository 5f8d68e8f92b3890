import { ExportRecord } from "@kapi/contracts";
import { DependencyError, type InternalClient } from "@kapi/http";
import { z } from "zod";

import type { ExportQuery } from "../../domain/history-export.ts";
import { type HistoryOwner, OwnerUnavailable } from "../../domain/ports.ts";

const NOT_FOUND = 404;
const OK = 200;
const HistoryAnswer = z.object({ records: z.array(ExportRecord) });

/** An owner of history behind its internal route (`…/history?from&to&limit`). */
export function createHistoryOwner(client: InternalClient): HistoryOwner {
  return {
    newest: async (serverId, accountNumber, query) => {
      const path = `/internal/servers/${serverId}/accounts/${encodeURIComponent(accountNumber)}/history?${toQuery(query)}`;
      try {
        const { status, body } = await client.request("GET", path);
        if (status === NOT_FOUND) return null;
        if (status !== OK) throw new Error(`an owner of history refused ${path} with ${status}`);
        return HistoryAnswer.parse(JSON.parse(body.toString("utf8"))).records;
      } catch (error) {
        if (error instanceof DependencyError) throw new OwnerUnavailable(error.message, { cause: error });
        throw error;
      }
    },
  };
}

function toQuery({ from, to, limit }: ExportQuery): string {
  const given = { from, to, limit: String(limit) };
  return new URLSearchParams(
    Object.entries(given).flatMap(([name, value]): [string, string][] => (value === null ? [] : [[name, value]])),
  ).toString();
}
