import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { queueFunds } from "./queue-funds.ts";

/** POST withdrawals: queues finance.withdraw. */
export function withdrawAccountFunds(needs: Needs): Operation {
  return queueFunds(needs, "finance.withdraw");
}
