import { delay } from "@kapi/kernel";

import { LocalError, messageOf } from "../local-error.ts";

const POLL_MS = 100;

/**
 * Repeats `check` until it returns true. Throws after `deadlineMs`; the message has `what` and the
 * last error.
 */
export async function waitUntil(what: string, deadlineMs: number, check: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + deadlineMs;
  let last = "";
  for (;;) {
    try {
      if (await check()) return;
    } catch (error) {
      last = `: ${messageOf(error)}`;
    }
    if (Date.now() > end) throw new LocalError(`${what} took longer than ${deadlineMs / 1000} s${last}`);
    await delay(POLL_MS);
  }
}
