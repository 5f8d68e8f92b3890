import type { Admission, RefundRequest } from "@kapi/admission";
import { type Clock, delay } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";

/** Pause between two tries. */
const RETRY_PAUSE_MS = 1_000;
/** How long a refund is tried: Redis remembers what it charged for 120 s, and gives nothing back after that. */
const GIVE_UP_AFTER_MS = 110_000;
/** Refunds that wait, about 500 bytes each. One more is given up, and logged. */
const MAX_WAITING = 10_000;
/** Refunds that are tried at the same time. */
const MAX_AT_ONCE = 200;

/** Refunds that Redis did not take at once. */
export interface RepeatedRefunds {
  /** Tries again until Redis takes it; it is carried out once, whatever the tries before did. */
  add(request: RefundRequest): void;
}

interface Waiting {
  readonly request: RefundRequest;
  readonly untilMs: number;
}

/** Starts trying, once a second; the last try is at the stop. A refund that cannot be made in time is logged with its charge id. */
export function startRepeatedRefunds(needs: {
  readonly admission: Pick<Admission, "refund">;
  readonly clock: Clock;
  readonly logger: Logger;
}): Started<RepeatedRefunds> {
  const { admission, clock, logger } = needs;
  const stopped = new AbortController();
  let waiting: Waiting[] = [];

  const giveUp = ({ requestId, chargeId, operation }: RefundRequest, error?: unknown): void =>
    logger.error({ err: error, requestId, chargeId, operation }, "a failed request was not refunded");
  const attempt = async (one: Waiting): Promise<Waiting[]> => {
    try {
      await admission.refund(one.request);
      return [];
    } catch (error) {
      if (clock.nowMs() < one.untilMs && !stopped.signal.aborted) return [one];
      giveUp(one.request, error);
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
  const running = (async () => {
    while (!stopped.signal.aborted) {
      await delay(RETRY_PAUSE_MS, stopped.signal);
      await round();
    }
    await round();
  })();
  return {
    value: {
      add: (request) => {
        if (waiting.length >= MAX_WAITING) giveUp(request);
        else waiting.push({ request, untilMs: clock.nowMs() + GIVE_UP_AFTER_MS });
      },
    },
    stop: async () => {
      stopped.abort();
      await running;
    },
  };
}
