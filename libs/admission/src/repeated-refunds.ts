import { type Clock, repeat, uuidV7TimeMs } from "@kapi/kernel";
import { counter, type Logger, type Started } from "@kapi/runtime";

import type { Admission, RefundRequest } from "./admission.ts";

/** Pause between two tries. */
const RETRY_PAUSE_MS = 1_000;
/**
 * How long after its charge a refund is tried: Redis remembers what it charged for 120 s, and gives
 * nothing back after that.
 */
const GIVE_UP_AFTER_MS = 110_000;
/**
 * How long the refunds that wait are tried at a stop. It is a part of the time that requests under
 * way have then.
 */
const STOP_TRY_MS = 2_000;
/** Refunds that wait, about 500 bytes each. One more is given up, and logged. */
const MAX_WAITING = 10_000;
/** Refunds that are tried at the same time. */
const MAX_AT_ONCE = 200;

const givenUp = counter(
  "admission.refunds.given_up",
  "Requests answered 5xx that may have been charged and whose charge was not given back; the log has each with its charge id",
  "{refund}",
);

/** Refunds that Redis did not take at once. */
export interface RepeatedRefunds {
  /** Tries again until Redis takes it; it is carried out once, whatever the tries before did. */
  add(request: RefundRequest): void;
}

/**
 * Starts trying, once a second; the last try is at the stop. A refund that cannot be made while
 * Redis remembers its charge is counted, and logged with its charge id. Charge ids are UUIDv7,
 * whose time is that of the request.
 */
export function startRepeatedRefunds(needs: {
  readonly admission: Pick<Admission, "refund">;
  readonly clock: Clock;
  readonly logger: Logger;
}): Started<RepeatedRefunds> {
  const { admission, clock, logger } = needs;
  let isStopping = false;
  let tryUntilMs = Number.POSITIVE_INFINITY;
  let waiting: RefundRequest[] = [];

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
    const due = waiting;
    waiting = [];
    for (let from = 0; from < due.length; from += MAX_AT_ONCE) {
      const left = await Promise.all(due.slice(from, from + MAX_AT_ONCE).map(attempt));
      waiting.push(...left.flat());
    }
  };
  const rounds = repeat({ name: "refunds", round, pauseMs: RETRY_PAUSE_MS, firstPauseMs: RETRY_PAUSE_MS, logger });
  return {
    value: {
      add: (request) => {
        if (waiting.length >= MAX_WAITING || isLate(request)) giveUp(request);
        else waiting.push(request);
      },
    },
    stop: async () => {
      tryUntilMs = clock.nowMs() + STOP_TRY_MS;
      isStopping = true;
      await rounds.stop();
      // What a round that was under way at the stop left, and what came in meanwhile.
      await round();
    },
  };
}
