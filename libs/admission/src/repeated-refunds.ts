import { type Clock, repeat, uuidV7TimeMs } from "@kapi/kernel";
import { counter, type Logger, type Started } from "@kapi/runtime";

import type { Admission, RefundRequest } from "./admission.ts";
import { CHARGE_TTL_MS } from "./redis/index.ts";

/** Pause between two attempts. */
const RETRY_PAUSE_MS = 1_000;
/**
 * A refund is retried until this time after its charge, while Redis remembers the charge. A later
 * refund would be left to the ledger, and would make the wallet shard unsynced.
 */
const GIVE_UP_AFTER_MS = CHARGE_TTL_MS - 10_000;
/** After a stop begins, attempts begin only within this time. Later refunds are given up. */
const STOP_TRY_MS = 2_000;
/**
 * Maximum number of waiting refunds, about 500 bytes each. Further refunds are given up and logged.
 */
const MAX_WAITING = 10_000;
/** Maximum number of concurrent refunds. */
const MAX_AT_ONCE = 200;

const givenUp = counter(
  "admission.refunds.given_up",
  "Requests answered 5xx that were perhaps charged and not refunded; the log has each with its charge id",
  "{refund}",
);

/** Retries refunds that Redis did not accept. */
export interface RepeatedRefunds {
  /**
   * Retries the refund until Redis accepts it, or until {@link GIVE_UP_AFTER_MS} after its charge.
   * If {@link MAX_WAITING} refunds wait, the refund is given up at once. A refund is applied once,
   * also if an earlier attempt succeeded.
   */
  add(request: RefundRequest): void;
}

/**
 * Starts retrying refunds once a second; the last attempt is at the stop. A refund that is given up
 * is counted, and logged with its charge id. Charge ids are UUIDv7, whose time is that of the
 * request.
 */
export function startRepeatedRefunds(dependencies: {
  readonly admission: Pick<Admission, "refund">;
  readonly clock: Clock;
  readonly logger: Logger;
}): Started<RepeatedRefunds> {
  const { admission, clock, logger } = dependencies;
  let isStopping = false;
  let tryUntilMs = Number.POSITIVE_INFINITY;
  let waiting: RefundRequest[] = [];
  /** Refunds of the running round whose attempt has not ended. */
  let due: RefundRequest[] = [];

  const giveUp = ({ requestId, chargeId, operation }: RefundRequest, error?: unknown): void => {
    givenUp.add(1);
    logger.error({ err: error, requestId, chargeId, operation }, "a failed request was not refunded");
  };
  const isLate = ({ chargeId }: RefundRequest): boolean =>
    clock.nowMs() >= Math.min(uuidV7TimeMs(chargeId) + GIVE_UP_AFTER_MS, tryUntilMs);
  const attempt = async (request: RefundRequest): Promise<RefundRequest[]> => {
    try {
      if (isLate(request)) giveUp(request);
      else await admission.refund(request);
      return [];
    } catch (error) {
      if (!isLate(request) && !isStopping) return [request];
      giveUp(request, error);
      return [];
    }
  };
  const round = async (): Promise<void> => {
    due = waiting;
    waiting = [];
    while (due.length > 0) {
      const left = await Promise.all(due.slice(0, MAX_AT_ONCE).map(attempt));
      due = due.slice(MAX_AT_ONCE);
      waiting.push(...left.flat());
    }
  };
  const rounds = repeat({ name: "refunds", round, pauseMs: RETRY_PAUSE_MS, firstPauseMs: RETRY_PAUSE_MS, logger });
  return {
    value: {
      add: (request) => {
        if (waiting.length + due.length >= MAX_WAITING || isLate(request)) giveUp(request);
        else waiting.push(request);
      },
    },
    stop: async () => {
      tryUntilMs = clock.nowMs() + STOP_TRY_MS;
      isStopping = true;
      await rounds.stop();
      // Retries refunds that the last round left, and refunds that are added meanwhile.
      do await round();
      while (waiting.length > 0);
    },
  };
}
