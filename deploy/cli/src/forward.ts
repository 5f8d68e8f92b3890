/**
 * Deliveries to a program on this machine, in the form of deliveries to a public receiver: signed,
 * with the same body and id.
 */
import { setTimeout as delay } from "node:timers/promises";

import { WEBHOOK_HEADERS } from "@kapi/contracts";
import type { Webhook } from "standardwebhooks";

import { reasonOf } from "./failure.ts";
import type { ListenedEvent } from "./feed.ts";

/** Response timeout, as for deliveries to public receivers. */
const ANSWER_TIMEOUT_MS = 15_000;
/**
 * Delays before retries while the program does not answer. After the last retry the event is
 * skipped.
 */
const RETRY_PAUSES_MS = [250, 500, 1_000, 2_000, 4_000] as const;

const SECOND_MS = 1_000;

/** The outcome of forwarding: the program's status, or why there is none. */
export interface Forwarded {
  readonly status: number | null;
  readonly error: string | null;
  /** Duration of the last attempt. */
  readonly tookMs: number;
  readonly attempts: number;
}

export interface ForwardOptions {
  readonly url: string;
  readonly webhook: Webhook;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
}

/**
 * Sends an event. Any answer ends the delivery. Without an answer, the delivery is retried up to
 * five times.
 */
export async function forward(event: ListenedEvent, options: ForwardOptions): Promise<Forwarded> {
  for (let attempts = 1; ; attempts += 1) {
    const beganMs = options.nowMs();
    const { status, error } = await send(event, options);
    const tookMs = options.nowMs() - beganMs;
    const pauseMs = RETRY_PAUSES_MS[attempts - 1];
    if (status !== null || pauseMs === undefined) return { status, error, tookMs, attempts };
    await delay(pauseMs, undefined, { signal: options.signal });
  }
}

async function send(
  { id, type, timestamp, data }: ListenedEvent,
  { url, webhook, nowMs, signal }: ForwardOptions,
): Promise<Pick<Forwarded, "status" | "error">> {
  const body = JSON.stringify({ type, timestamp, data });
  const now = new Date(nowMs());
  try {
    const response = await fetch(url, {
      method: "POST",
      redirect: "manual",
      headers: {
        "content-type": "application/json",
        [WEBHOOK_HEADERS.id]: id,
        [WEBHOOK_HEADERS.timestamp]: String(Math.floor(now.getTime() / SECOND_MS)),
        [WEBHOOK_HEADERS.signature]: webhook.sign(id, now, body),
      },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
    });
    await response.body?.cancel();
    return { status: response.status, error: null };
  } catch (error) {
    signal.throwIfAborted();
    return { status: null, error: reasonOf(error) };
  }
}
