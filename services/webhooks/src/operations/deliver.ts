import { WEBHOOK_HEADERS } from "@kapi/contracts";
import { batcher, type Clock, delay, retry, toIso } from "@kapi/kernel";
import { faultPoint, inBatchSpan, type Logger, TRACEPARENT_HEADER, type Traceparent } from "@kapi/runtime";

import { judge, type Reply, type Verdict } from "../domain/attempt.ts";
import { FAILING_LIMIT_MS } from "../domain/endpoint.ts";
import type { DeliveryStore, EndpointStore, Leased, Outgoing, Recorded, Room, Sender } from "../domain/ports.ts";
import { signatureOf } from "../domain/signature.ts";
import { endAttempt, startAttempt } from "./attempt-span.ts";
import type { EndpointBook, OpenEndpoint } from "./endpoint-book.ts";
import { type LaneLimits, Lanes } from "./lanes.ts";
import { countDisabled, measureAttempt } from "./measures.ts";

/** Attempts of one statement. */
const MAX_RECORDED_TOGETHER = 500;
/**
 * What is under way at a stop may end within this time, in milliseconds; then it is cut off and
 * given back.
 */
const STOP_MS = 8_000;
/**
 * A process whose database fails tries to record again after this, in milliseconds, as long as the
 * lease lasts.
 */
const RECORD_AGAIN_MS = 500;
const SECOND_MS = 1_000;
/** Tried again like any other failure: the key may come back, or the secret be rotated. */
const NOT_SIGNED: Reply = {
  status: null,
  error: "the secret of the endpoint cannot be opened: rotate it",
  durationMs: 0,
  replyStart: "",
  retryAfter: undefined,
};

const NO_ROOM: Room = { take: () => false };

/** An attempt that was made. */
interface Sent {
  readonly open: OpenEndpoint;
  readonly verdict: Verdict;
  readonly well: boolean;
  readonly tookMs: number;
}

export interface DelivererOptions {
  readonly limits: LaneLimits;
  readonly sender: Sender;
  readonly book: EndpointBook;
  readonly deliveries: Pick<DeliveryStore, "record" | "release">;
  readonly endpoints: Pick<EndpointStore, "disable">;
  /** An attempt takes no longer than that, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * Time to record an attempt that a lease has to have left beside the attempt, in milliseconds.
   */
  readonly marginMs: number;
  /** Told when an endpoint could take more up: its slots are free, or it is enabled no more. */
  readonly onRoom: (endpointId: string) => void;
  /** Told when an endpoint is not, or no longer, to be sent anything. */
  readonly onNotEnabled: (endpointId: string) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/**
 * Sends what this process has leased. An attempt is recorded after it was made: if the process is
 * killed between the two, the lease ends and it is made again, with the same id.
 */
export class Deliverer {
  readonly #options: DelivererOptions;
  readonly #lanes: Lanes;
  readonly #record: (attempt: Recorded) => Promise<void>;
  readonly #underWay = new Set<Promise<void>>();
  #stopping = false;
  #brokenOff = false;

  constructor(options: DelivererOptions) {
    this.#options = options;
    this.#lanes = new Lanes(options.limits, options.random);
    this.#record = batcher<Recorded, void>({
      load: async (attempts) => {
        const members = attempts.map(({ delivery }) => delivery.traceparent);
        await inBatchSpan("record attempts", members, () => options.deliveries.record(attempts, options.clock.nowMs()));
        return attempts.map(() => undefined);
      },
      maxBatchSize: MAX_RECORDED_TOGETHER,
      maxConcurrentBatches: 1,
    });
  }

  /** What can be taken up now, and added in the same turn. */
  room(): Room {
    return this.#stopping ? NO_ROOM : this.#lanes.room(this.#options.clock.nowMs());
  }

  /** What is under way now. */
  get running(): number {
    return this.#lanes.running;
  }

  add(deliveries: readonly Leased[]): void {
    const nowMs = this.#options.clock.nowMs();
    const resting = deliveries.filter((delivery) => !this.#lanes.add(delivery, nowMs));
    if (resting.length > 0) this.#track(this.#giveBack(resting));
    this.#pump();
  }

  /**
   * Gives back what waits, lets end what is under way, within a deadline, and gives back what did
   * not.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#giveBack(this.#lanes.drain());
    await Promise.race([Promise.all(this.#underWay), delay(STOP_MS)]);
    this.#brokenOff = true;
    this.#options.sender.breakOff();
    await Promise.all(this.#underWay);
  }

  #pump(): void {
    if (this.#stopping) return;
    for (let next = this.#lanes.next(); next !== undefined; next = this.#lanes.next()) {
      const delivery = next;
      // Whoever made room for it has a trace of its own, or none.
      const work = inBatchSpan("deliver webhook", [delivery.traceparent], () => this.#deliver(delivery));
      this.#track(
        work.catch((error: unknown) => {
          this.#options.logger.error({ err: error, delivery: delivery.id }, "a delivery broke off; its lease will end");
        }),
      );
    }
  }

  /** A stop waits for `work`, which does not reject. */
  #track(work: Promise<void>): void {
    const tracked = work.finally(() => {
      this.#underWay.delete(tracked);
    });
    this.#underWay.add(tracked);
  }

  async #deliver(delivery: Leased): Promise<void> {
    const { endpointId } = delivery;
    let sent: Sent | null = null;
    let resting: readonly Leased[] = [];
    try {
      sent = await this.#send(delivery);
    } finally {
      if (sent === null) this.#lanes.skipped(endpointId);
      else {
        const { well, tookMs, verdict } = sent;
        const nowMs = this.#options.clock.nowMs();
        resting = this.#lanes.ended(endpointId, { well, tookMs, nowMs, quietUntilMs: verdict.quietUntilMs });
      }
      // The next one does not wait for the recording: more attempts share a statement.
      this.#pump();
      this.#options.onRoom(endpointId);
    }
    if (sent === null) return;
    const { open, verdict, well } = sent;
    await Promise.all([this.#recordWithinLease({ delivery, verdict }), this.#giveBack(resting)]);
    if (well) return;
    // Since when it fails is written with the attempt.
    this.#options.book.forget(endpointId);
    await this.#disableIfDead(open, verdict);
  }

  /** Makes the attempt; null where none was made, or none that counts. */
  async #send(delivery: Leased): Promise<Sent | null> {
    const { book, clock, timeoutMs, marginMs, sender } = this.#options;
    const open = await book.get(delivery.endpointId);
    // Another process may have it before this attempt is recorded: left to whoever takes it up
    // next.
    if (delivery.leaseUntilMs - clock.nowMs() < timeoutMs + marginMs) return null;
    if (open?.endpoint.status !== "enabled") {
      await this.#giveBack([delivery]);
      this.#options.onNotEnabled(delivery.endpointId);
      return null;
    }
    const sentAtMs = clock.nowMs();
    const span = startAttempt(delivery, open.endpoint.url);
    const outgoing = this.#outgoing(delivery, open, sentAtMs, span?.traceparent);
    const reply = outgoing === null ? NOT_SIGNED : await sender.send(outgoing);
    endAttempt(span, reply);
    if (this.#brokenOff) {
      await this.#giveBack([delivery]);
      return null;
    }
    faultPoint("webhooks.after-send");
    const verdict = judge(reply, {
      number: delivery.attemptCount + 1,
      failures: delivery.step,
      sentAtMs,
      nowMs: clock.nowMs(),
      random: this.#options.random(),
    });
    const well = verdict.status === "succeeded";
    measureAttempt(well ? "succeeded" : "failed", reply.durationMs);
    return { open, verdict, well, tookMs: reply.durationMs };
  }

  /** Null where there is no secret to sign with. */
  #outgoing(
    delivery: Leased,
    open: OpenEndpoint,
    sentAtMs: number,
    traceparent: Traceparent | undefined,
  ): Outgoing | null {
    const keys = this.#options.book.keysOf(open);
    if (keys.length === 0) return null;
    const timestamp = Math.floor(sentAtMs / SECOND_MS);
    const { eventId: id, payload: body } = delivery;
    return {
      url: open.endpoint.url,
      headers: {
        [WEBHOOK_HEADERS.id]: id,
        [WEBHOOK_HEADERS.timestamp]: String(timestamp),
        [WEBHOOK_HEADERS.signature]: signatureOf(keys, { id, timestamp, body }),
        ...(traceparent === undefined ? {} : { [TRACEPARENT_HEADER]: traceparent }),
      },
      body,
    };
  }

  /** A lost record means a repeated delivery, so it is tried as long as it makes sense. */
  async #recordWithinLease(attempt: Recorded): Promise<void> {
    const { clock, logger } = this.#options;
    const { id, leaseUntilMs } = attempt.delivery;
    await retry(() => this.#record(attempt), {
      backOff: { firstMs: RECORD_AGAIN_MS },
      isRetryable: () => !this.#stopping && clock.nowMs() + RECORD_AGAIN_MS < leaseUntilMs,
      onFailure: (error) => logger.warn({ err: error, delivery: id }, "an attempt was not recorded; it is tried again"),
    });
  }

  /** 410, or nothing but failures for five days (decisions, 11). */
  async #disableIfDead({ endpoint }: OpenEndpoint, { gone }: Verdict): Promise<void> {
    const { endpoints, book, clock, logger, onNotEnabled } = this.#options;
    const nowMs = clock.nowMs();
    const failingBeforeMs = nowMs - FAILING_LIMIT_MS;
    const dead = endpoint.failingSinceMs !== null && endpoint.failingSinceMs <= failingBeforeMs;
    if (!gone && !dead) return;
    const reason = gone ? "gone" : "failing";
    if (!(await endpoints.disable(endpoint.id, reason, nowMs, failingBeforeMs))) return;
    countDisabled(reason);
    book.forget(endpoint.id);
    const { id: endpointId, organizationId } = endpoint;
    logger.warn({ endpointId, organizationId, reason, at: toIso(nowMs) }, "a webhook endpoint was disabled");
    onNotEnabled(endpointId);
  }

  async #giveBack(deliveries: readonly Leased[]): Promise<void> {
    if (deliveries.length === 0) return;
    try {
      await this.#options.deliveries.release(deliveries, this.#options.clock.nowMs());
    } catch (error) {
      this.#options.logger.warn({ err: error, deliveries: deliveries.length }, "deliveries were not given back");
    }
  }
}
