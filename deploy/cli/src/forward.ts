/**
 * Deliveries to a program on this machine, as a receiver on the internet has them: signed, with the
 * same body and id.
 */
import { setTimeout as delay } from "node:timers/promises";

import { WEBHOOK_HEADERS } from "@kapi/contracts";
import type { Webhook } from "standardwebhooks";

import { reasonOf } from "./failure.ts";
import type { ListenedEvent } from "./feed.ts";

/** What a receiver may take for its answer, as in earnest. */
const ANSWER_TIMEOUT_MS = 15_000;
/**
 * Rests before a program that is not up is tried again; after the last one the event is given up.
 */
const RETRY_PAUSES_MS = [250, 500, 1_000, 2_000, 4_000] as const;

const SECOND_MS = 1_000;

/** How forwarding ended: the program's status, or why it gave none. */
export interface Forwarded {
  readonly status: number | null;
  readonly error: string | null;
  /** Of the last attempt. */
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
 * Sends an event. Any answer ends the delivery. Without an answer it is retried for some seconds.
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
