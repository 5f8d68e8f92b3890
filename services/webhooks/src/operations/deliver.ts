import { WEBHOOK_HEADERS } from "@kapi/contracts";
import { batcher, type Clock, delay, toIso } from "@kapi/kernel";
import { type Counter, faultPoint, type Logger } from "@kapi/runtime";

import { judge, type Reply, type Verdict } from "../domain/attempt.ts";
import { FAILING_LIMIT_MS } from "../domain/endpoint.ts";
import type { DeliveryStore, EndpointStore, Leased, Outgoing, Recorded, Sender } from "../domain/ports.ts";
import { signatureOf } from "../domain/signature.ts";
import type { EndpointBook, OpenEndpoint } from "./endpoint-book.ts";
import { type LaneLimits, Lanes } from "./lanes.ts";

/** Attempts of one statement. */
const MAX_RECORDED_TOGETHER = 500;
/** What is under way at a stop may end within this time, in milliseconds; then it is cut off and given back. */
const STOP_MS = 8_000;
/** A process whose database fails tries to record again after this, in milliseconds, as long as the lease lasts. */
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

export interface DelivererOptions {
  readonly limits: LaneLimits;
  readonly sender: Sender;
  readonly book: EndpointBook;
  readonly deliveries: Pick<DeliveryStore, "record" | "release">;
  readonly endpoints: Pick<EndpointStore, "disable">;
  /** An attempt takes no longer than that, in milliseconds. */
  readonly timeoutMs: number;
  /** Time to record an attempt that a lease has to have left beside the attempt, in milliseconds. */
  readonly marginMs: number;
  /** Told when an endpoint could take more up: its slots are free, or it is enabled no more. */
  readonly onRoom: (endpointId: string) => void;
  /** Told when an endpoint is not, or no longer, to be sent anything. */
  readonly onNotEnabled: (endpointId: string) => void;
  readonly attempts: Counter;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/**
 * Sends what this process has leased. An attempt is recorded after it was made: if the process is killed between the two, the
 * lease ends and it is made again, with the same id.
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
    this.#lanes = new Lanes(options.limits);
    this.#record = batcher<Recorded, void>({
      load: async (attempts) => {
        await options.deliveries.record(attempts, options.clock.nowMs());
        return attempts.map(() => undefined);
      },
      maxBatchSize: MAX_RECORDED_TOGETHER,
      maxConcurrentBatches: 1,
    });
  }

  /** How many deliveries of an endpoint can be taken up now. */
  roomOf(endpointId: string): number {
    return this.#stopping ? 0 : this.#lanes.roomOf(endpointId, this.#options.clock.nowMs());
  }

  /** What is under way now. */
  get running(): number {
    return this.#lanes.running;
  }

  add(deliveries: readonly Leased[]): void {
    for (const delivery of deliveries) this.#lanes.add(delivery);
    this.#pump();
  }

  /** Gives back what waits, lets end what is under way, within a deadline, and gives back what did not. */
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
    const nowMs = this.#options.clock.nowMs();
    for (let next = this.#lanes.next(nowMs); next !== undefined; next = this.#lanes.next(nowMs)) {
      const delivery = next;
      const work = this.#deliver(delivery)
        .catch((error: unknown) => {
          this.#lanes.skipped(delivery.endpointId);
          this.#options.logger.error({ err: error, delivery: delivery.id }, "a delivery broke off; its lease will end");
        })
        .finally(() => {
          this.#underWay.delete(work);
          this.#options.onRoom(delivery.endpointId);
          this.#pump();
        });
      this.#underWay.add(work);
    }
  }

  async #deliver(delivery: Leased): Promise<void> {
    const { book, clock, timeoutMs, marginMs, onNotEnabled } = this.#options;
    const open = await book.get(delivery.endpointId);
    // Another process may have it before this attempt is recorded: left to whoever takes it up next.
    const tooLate = delivery.leaseUntilMs - clock.nowMs() < timeoutMs + marginMs;
    const enabled = open?.endpoint.status === "enabled";
    if (!enabled || tooLate) {
      this.#lanes.skipped(delivery.endpointId);
      if (!tooLate) await this.#giveBack([delivery]);
      if (!enabled) onNotEnabled(delivery.endpointId);
      return;
    }
    const sentAtMs = clock.nowMs();
    const outgoing = this.#outgoing(delivery, open, sentAtMs);
    const reply = outgoing === null ? NOT_SIGNED : await this.#options.sender.send(outgoing);
    if (this.#brokenOff) {
      this.#lanes.skipped(delivery.endpointId);
      return this.#giveBack([delivery]);
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
    this.#options.attempts.add(1, { outcome: well ? "succeeded" : "failed" });
    this.#lanes.ended(delivery.endpointId, { well, tookMs: reply.durationMs, quietUntilMs: verdict.quietUntilMs });
    // The next one does not wait for the recording: more attempts share a statement.
    this.#pump();
    await this.#recordWithinLease({ delivery, verdict });
    if (well) return;
    // Since when it fails is written with the attempt.
    book.forget(delivery.endpointId);
    await this.#disableIfDead(open, verdict);
  }

  /** Null where there is no secret to sign with. */
  #outgoing(delivery: Leased, open: OpenEndpoint, sentAtMs: number): Outgoing | null {
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
      },
      body,
    };
  }

  /** A lost record means a repeated delivery, so it is tried as long as it makes sense. */
  async #recordWithinLease(attempt: Recorded): Promise<void> {
    const { clock, logger } = this.#options;
    for (;;) {
      try {
        return await this.#record(attempt);
      } catch (error) {
        if (this.#stopping || clock.nowMs() + RECORD_AGAIN_MS >= attempt.delivery.leaseUntilMs) throw error;
        logger.warn({ err: error, delivery: attempt.delivery.id }, "an attempt was not recorded; it is tried again");
        await delay(RECORD_AGAIN_MS);
      }
    }
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
