import { delay } from "@kapi/kernel";

import { LocalError, messageOf } from "../local-error.ts";

const POLL_MS = 100;

/**
 * Repeats `check` until it returns true. Throws after `deadlineMs`; the message has `until` and the
 * last error. `until` is a clause, such as "the standby streams".
 */
export async function waitUntil(until: string, deadlineMs: number, check: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + deadlineMs;
  let last = "";
  for (;;) {
    try {
      if (await check()) return;
    } catch (error) {
      last = `: ${messageOf(error)}`;
    }
    if (Date.now() > end) throw new LocalError(`timeout after ${deadlineMs / 1000} s; waited until ${until}${last}`);
    await delay(POLL_MS);
  }
}
