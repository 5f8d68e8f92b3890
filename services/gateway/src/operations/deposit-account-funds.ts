import { FundsBody } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { queueAccountCommand } from "./queue-account-command.ts";

/** POST deposits: queues finance.deposit. */
export function depositAccountFunds(needs: Needs): Operation {
  return queueAccountCommand(needs, { operation: "finance.deposit", body: FundsBody });
}
