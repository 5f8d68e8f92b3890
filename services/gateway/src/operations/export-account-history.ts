import { ExportAccountHistoryBody } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { queueAccountCommand } from "./queue-account-command.ts";

/** POST exports/history: queues account.history_export; the command's result carries the export. */
export function exportAccountHistory(needs: Needs): Operation {
  return queueAccountCommand(needs, { operation: "account.history_export", body: ExportAccountHistoryBody });
}
