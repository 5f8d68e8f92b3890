import { FundsBody } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { queueAccountCommand } from "./queue-account-command.ts";

/** POST withdrawals: queues finance.withdraw. */
export function withdrawAccountFunds(needs: Needs): Operation {
  return queueAccountCommand(needs, { operation: "finance.withdraw", body: FundsBody });
}
