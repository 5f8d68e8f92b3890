/** Open-loop load: requests are sent at a fixed rate, however long the earlier ones take. */
import { setTimeout as delay } from "node:timers/promises";

import { type Figures, figuresOf } from "./measure.ts";

/** While this many requests are in flight, due requests are not sent. */
const MAX_IN_FLIGHT = 2_000;
/** Only about this many requests per second are followed until they succeed. */
const MAX_FOLLOWED_PER_SECOND = 10;

/** A request of the load, and how its end is observed. */
export interface OpenLoopTarget {
  /** Sends one request. Resolves with its id when it is accepted; rejects on any other answer. */
  readonly accept: () => Promise<string>;
  /** Resolves when the request with this id has succeeded. */
  readonly succeeded: (id: string) => Promise<void>;
}

/** Figures of one rate. */
export interface OpenLoopFigures {
  /** From the due time of a request until its acceptance. */
  readonly accepted: Figures;
  /** From acceptance to success, of the followed requests. */
  readonly succeeded: Figures;
  /** Due requests that were not sent, because {@link MAX_IN_FLIGHT} were in flight. */
  readonly unsent: number;
}

/**
 * Sends `perSecond` requests a second for `durationMs`. Waits until all sent requests are accepted,
 * and the followed ones have succeeded. The time to acceptance counts from the due time, so the
 * delay of a system that falls behind is included. Rejects if a request fails.
 */
export async function openLoop(
  target: OpenLoopTarget,
  { perSecond, durationMs }: { readonly perSecond: number; readonly durationMs: number },
): Promise<OpenLoopFigures> {
  const acceptedMs: number[] = [];
  const succeededMs: number[] = [];
  const total = Math.floor((perSecond * durationMs) / 1000);
  const followEvery = Math.max(1, Math.round(perSecond / MAX_FOLLOWED_PER_SECOND));
  const running = new Set<Promise<void>>();
  let inFlight = 0;
  let unsent = 0;
  const send = async (index: number, dueMs: number): Promise<void> => {
    inFlight += 1;
    const id = await target.accept().finally(() => {
      inFlight -= 1;
    });
    const answeredMs = performance.now();
    acceptedMs.push(answeredMs - dueMs);
    if (index % followEvery !== 0) return;
    await target.succeeded(id);
    succeededMs.push(performance.now() - answeredMs);
  };
  const startedMs = performance.now();
  let failure: unknown = null;
  for (let index = 0; index < total; index += 1) {
    const dueMs = startedMs + (index * 1000) / perSecond;
    const earlyMs = dueMs - performance.now();
    if (earlyMs > 0) await delay(earlyMs);
    if (inFlight >= MAX_IN_FLIGHT) {
      unsent += 1;
      continue;
    }
    const sent = send(index, dueMs)
      .catch((error: unknown) => {
        failure ??= error;
      })
      .finally(() => running.delete(sent));
    running.add(sent);
  }
  await delay(Math.max(0, startedMs + durationMs - performance.now()));
  await Promise.all(running);
  if (failure !== null) throw failure;
  const elapsedMs = Math.max(durationMs, performance.now() - startedMs);
  return {
    accepted: figuresOf(acceptedMs, elapsedMs),
    succeeded: figuresOf(succeededMs, elapsedMs),
    unsent,
  };
}
