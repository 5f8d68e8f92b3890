/** Waits at the start of a process for a PostgreSQL or Redis that does not answer yet. */
import { type BackOff, retry } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

/**
 * How long a starting process tries again if PostgreSQL or Redis does not answer. The server
 * possibly restarts, or many processes connect to it at once during an upgrade.
 */
const REACH_TIMEOUT_MS = 60_000;
const REACH_BACK_OFF: BackOff = { firstMs: 250, maxMs: 5_000 };

/**
 * Calls `connect` until PostgreSQL or Redis answers. No attempt begins later than {@link
 * REACH_TIMEOUT_MS} after the first attempt.
 * @throws the error of `connect` if `isUnreachable` is false for it, such as a wrong password, or
 * if the time is over.
 */
export function connectWhenReachable<T>(
  server: string,
  connect: () => Promise<T>,
  isUnreachable: (error: unknown) => boolean,
  logger: Logger,
): Promise<T> {
  return retry(connect, {
    backOff: REACH_BACK_OFF,
    timeoutMs: REACH_TIMEOUT_MS,
    isRetryable: isUnreachable,
    onFailure: (error, failures) => {
      logger.warn({ err: error, server, failures }, "the start waits for a server");
    },
  });
}
