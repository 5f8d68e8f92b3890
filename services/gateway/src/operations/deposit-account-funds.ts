import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { queueFunds } from "./queue-funds.ts";

/** POST deposits: queues finance.deposit. */
export function depositAccountFunds(needs: Needs): Operation {
  return queueFunds(needs, "finance.deposit");
}
