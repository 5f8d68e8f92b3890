import { WEBHOOK_HEADERS } from "@kapi/contracts";
import { batcher, type Clock, delay, retry, toIso } from "@kapi/kernel";
import { faultPoint, inBatchSpan, type Logger, TRACEPARENT_HEADER, type Traceparent } from "@kapi/runtime";

import { classifyReply, type Reply, type AttemptOutcome } from "../domain/attempt.ts";
import { FAILING_LIMIT_MS } from "../domain/endpoint.ts";
import type {
  DeliveryStore,
  EndpointStore,
  LeasedDelivery,
  OutgoingRequest,
  AttemptRecord,
  Capacity,
  Sender,
} from "../domain/ports.ts";
import { signatureOf } from "../domain/signature.ts";
import { endAttempt, startAttempt } from "./attempt-span.ts";
import type { EndpointCache, EndpointWithKeys } from "./endpoint-cache.ts";
import { type DeliveryLimits, EndpointQueues } from "./endpoint-queues.ts";
import { countDisabled, measureAttempt } from "./metrics.ts";

/** Maximum number of attempts in one statement. */
const MAX_BATCH_ATTEMPTS = 500;
/**
 * How long a stop waits for running attempts, in milliseconds. Then the attempts are aborted, and
 * their deliveries are released.
 */
const STOP_TIMEOUT_MS = 8_000;
/** Delay before the service tries again to record an attempt, in milliseconds. */
const RECORD_RETRY_MS = 500;
const SECOND_MS = 1_000;
/** Retried like any other failure: the sealing key may be restored, or the secret rotated. */
const NOT_SIGNED: Reply = {
  status: null,
  error: "the secret of the endpoint cannot be decrypted: rotate it",
  durationMs: 0,
  replyStart: "",
  retryAfter: undefined,
};

const NO_CAPACITY: Capacity = { reserve: () => false };

/** A finished attempt. */
interface SentAttempt {
  readonly target: EndpointWithKeys;
  readonly outcome: AttemptOutcome;
  readonly succeeded: boolean;
  readonly durationMs: number;
}

interface DelivererOptions {
  readonly limits: DeliveryLimits;
  readonly sender: Sender;
  readonly endpointCache: EndpointCache;
  readonly deliveries: Pick<DeliveryStore, "record" | "release">;
  readonly endpoints: Pick<EndpointStore, "disable">;
  /** Maximum duration of an attempt, in milliseconds. */
  readonly timeoutMs: number;
  /** The part of a lease that is reserved for recording the attempt, in milliseconds. */
  readonly marginMs: number;
  /** Called when an endpoint may have free capacity. */
  readonly onCapacity: (endpointId: string) => void;
  /** Called for an endpoint that this process disables, or that it finds disabled or deleted. */
  readonly onNotEnabled: (endpointId: string) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/**
 * Sends the deliveries that this process has leased. An attempt is recorded after it is made. If
 * the process is killed in between, the lease expires and another attempt is made with the same
 * `webhook-id`.
 */
export class Deliverer {
  readonly #options: DelivererOptions;
  readonly #queues: EndpointQueues;
  readonly #record: (attempt: AttemptRecord) => Promise<void>;
  readonly #running = new Set<Promise<void>>();
  #stopping = false;
  #aborted = false;

  constructor(options: DelivererOptions) {
    this.#options = options;
    this.#queues = new EndpointQueues(options.limits, options.random);
    this.#record = batcher<AttemptRecord, void>({
      load: async (attempts) => {
        const members = attempts.map(({ delivery }) => delivery.traceparent);
        await inBatchSpan("record attempts", members, () => options.deliveries.record(attempts, options.clock.nowMs()));
        return attempts.map(() => undefined);
      },
      maxBatchSize: MAX_BATCH_ATTEMPTS,
      maxConcurrentBatches: 1,
    });
  }

  /**
   * The capacity at this moment. Other callers see a reservation only after its delivery is added.
   */
  capacity(): Capacity {
    return this.#stopping ? NO_CAPACITY : this.#queues.capacity(this.#options.clock.nowMs());
  }

  /** Number of running deliveries. */
  get running(): number {
    return this.#queues.running;
  }

  /**
   * Ends a pause of an endpoint that the receiver at a former URL requested by `Retry-After`.
   * Rejects if the database fails.
   */
  async endPauseOfFormerUrl(endpointId: string): Promise<void> {
    const url = this.#queues.pausedBy(endpointId, this.#options.clock.nowMs());
    if (url === null) return;
    const target = await this.#options.endpointCache.get(endpointId);
    if (target !== null && target.endpoint.url !== url) this.#queues.endPauseBy(endpointId, url);
  }

  /** Queues deliveries that this process has leased. Releases those of paused endpoints. */
  add(deliveries: readonly LeasedDelivery[]): void {
    const nowMs = this.#options.clock.nowMs();
    const paused = deliveries.filter((delivery) => !this.#queues.add(delivery, nowMs));
    if (paused.length > 0) this.#track(this.#release(paused));
    this.#pump();
  }

  /**
   * Releases waiting deliveries, waits for running deliveries until a deadline, and releases those
   * that still run.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#release(this.#queues.drain());
    await Promise.race([Promise.all(this.#running), delay(STOP_TIMEOUT_MS)]);
    this.#aborted = true;
    this.#options.sender.abort();
    await Promise.all(this.#running);
  }

  #pump(): void {
    if (this.#stopping) return;
    for (let next = this.#queues.next(); next !== undefined; next = this.#queues.next()) {
      const delivery = next;
      // The delivery starts in the trace of its event, not in the trace of the previous delivery.
      const work = inBatchSpan("deliver webhook", [delivery.traceparent], () => this.#deliver(delivery));
      this.#track(
        work.catch((error: unknown) => {
          this.#options.logger.error(
            { err: error, delivery: delivery.id },
            "a delivery was interrupted; if its attempt is not recorded, the delivery is retried after the lease",
          );
        }),
      );
    }
  }

  /** Makes `stop` wait for `work`, which never rejects. */
  #track(work: Promise<void>): void {
    const tracked = work.finally(() => {
      this.#running.delete(tracked);
    });
    this.#running.add(tracked);
  }

  async #deliver(delivery: LeasedDelivery): Promise<void> {
    const { endpointId } = delivery;
    let sent: SentAttempt | null = null;
    let paused: readonly LeasedDelivery[] = [];
    try {
      sent = await this.#send(delivery);
    } finally {
      if (sent === null) this.#queues.skip(endpointId);
      else {
        const { target, succeeded, durationMs, outcome } = sent;
        const nowMs = this.#options.clock.nowMs();
        paused = this.#queues.finish(endpointId, {
          url: target.endpoint.url,
          succeeded,
          durationMs,
          nowMs,
          pausedUntilMs: outcome.pausedUntilMs,
        });
      }
      // Start the next delivery before recording this attempt: more attempts then share a
      // statement.
      this.#pump();
      this.#options.onCapacity(endpointId);
    }
    if (sent === null) return;
    const { target, outcome, succeeded } = sent;
    await Promise.all([this.#recordWithinLease({ delivery, outcome }), this.#release(paused)]);
    if (succeeded) return;
    // Recording the attempt sets `failingSince`: read the endpoint again.
    this.#options.endpointCache.forget(endpointId);
    await this.#disableIfGoneOrFailing(target, outcome);
  }

  /** Makes the attempt; null if no attempt was made, or if it was aborted. */
  async #send(delivery: LeasedDelivery): Promise<SentAttempt | null> {
    const { endpointCache, clock, timeoutMs, marginMs, sender } = this.#options;
    const target = await endpointCache.get(delivery.endpointId);
    // The lease may expire before the attempt is recorded: leave the delivery to the next lease.
    if (delivery.leaseUntilMs - clock.nowMs() < timeoutMs + marginMs) return null;
    if (target?.endpoint.status !== "enabled") {
      await this.#release([delivery]);
      this.#options.onNotEnabled(delivery.endpointId);
      return null;
    }
    const sentAtMs = clock.nowMs();
    const span = startAttempt(delivery, target.endpoint.url);
    const outgoing = this.#outgoing(delivery, target, sentAtMs, span?.traceparent);
    const reply = outgoing === null ? NOT_SIGNED : await sender.send(outgoing);
    endAttempt(span, reply);
    if (this.#aborted) {
      await this.#release([delivery]);
      return null;
    }
    faultPoint("webhooks.after-send");
    const outcome = classifyReply(reply, {
      number: delivery.attemptCount + 1,
      failures: delivery.step,
      sentAtMs,
      nowMs: clock.nowMs(),
      random: this.#options.random(),
    });
    const succeeded = outcome.status === "succeeded";
    measureAttempt(succeeded ? "succeeded" : "failed", reply.durationMs);
    return { target, outcome, succeeded, durationMs: reply.durationMs };
  }

  /** The request of the attempt; null without a usable secret. */
  #outgoing(
    delivery: LeasedDelivery,
    target: EndpointWithKeys,
    sentAtMs: number,
    traceparent: Traceparent | undefined,
  ): OutgoingRequest | null {
    const keys = this.#options.endpointCache.signingKeys(target);
    if (keys.length === 0) return null;
    const timestamp = Math.floor(sentAtMs / SECOND_MS);
    const { eventId: id, payload: body } = delivery;
    return {
      url: target.endpoint.url,
      headers: {
        [WEBHOOK_HEADERS.id]: id,
        [WEBHOOK_HEADERS.timestamp]: String(timestamp),
        [WEBHOOK_HEADERS.signature]: signatureOf(keys, { id, timestamp, body }),
        ...(traceparent === undefined ? {} : { [TRACEPARENT_HEADER]: traceparent }),
      },
      body,
    };
  }

  /**
   * If an attempt is not recorded, the delivery is sent again. So recording is retried while the
   * lease lasts. It is not retried while the process stops.
   */
  async #recordWithinLease(attempt: AttemptRecord): Promise<void> {
    const { clock, logger } = this.#options;
    const { id, leaseUntilMs } = attempt.delivery;
    await retry(() => this.#record(attempt), {
      backOff: { firstMs: RECORD_RETRY_MS },
      isRetryable: () => !this.#stopping && clock.nowMs() + RECORD_RETRY_MS < leaseUntilMs,
      onFailure: (error) =>
        logger.warn(
          { err: error, delivery: id },
          "an attempt could not be recorded; the service tries again to record it",
        ),
    });
  }

  /** Disables the endpoint after 410, or after five days of failures (decisions, 11). */
  async #disableIfGoneOrFailing({ endpoint }: EndpointWithKeys, { gone }: AttemptOutcome): Promise<void> {
    const { endpoints, endpointCache, clock, logger, onNotEnabled } = this.#options;
    const nowMs = clock.nowMs();
    const failingBeforeMs = nowMs - FAILING_LIMIT_MS;
    const isFailing = endpoint.failingSinceMs !== null && endpoint.failingSinceMs <= failingBeforeMs;
    if (!gone && !isFailing) return;
    const reason = gone ? "gone" : "failing";
    if (!(await endpoints.disable(endpoint, reason, nowMs, failingBeforeMs))) return;
    countDisabled(reason);
    endpointCache.forget(endpoint.id);
    const { id: endpointId, organizationId } = endpoint;
    logger.warn({ endpointId, organizationId, reason, at: toIso(nowMs) }, "a webhook endpoint was disabled");
    onNotEnabled(endpointId);
  }

  async #release(deliveries: readonly LeasedDelivery[]): Promise<void> {
    if (deliveries.length === 0) return;
    try {
      await this.#options.deliveries.release(deliveries, this.#options.clock.nowMs());
    } catch (error) {
      this.#options.logger.warn(
        { err: error, deliveries: deliveries.length },
        "deliveries were not released; their leases expire",
      );
    }
  }
}
