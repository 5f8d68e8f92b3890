/**
 * Raises the number of partitions of the topics, phase by phase (decisions, 28). At the beginning
 * of each phase, the command writes the phase to the record of `partition.growth`. After a crash
 * the operator runs the command again. The command then begins the phase in the record again. From
 * `moving` it goes back to `draining`, unless a topic may have grown already.
 */
import { CommandLineError, EXIT_CODES } from "@kapi/client/cli";
import type { PartitionGrowth } from "@kapi/contracts";
import {
  GROWTH_VALID_MS,
  GROWTH_VALID_WHILE_GROWING_MS,
  groupsWithMembers,
  growTopics,
  type KafkaConnection,
  type Producer,
  readPartitionGrowth,
  startProducer,
  topicSizes,
  writePartitionGrowth,
} from "@kapi/kafka";
import { type Clock, delay, toIso } from "@kapi/kernel";
import { faultPoint, type Logger, Scope } from "@kapi/runtime";

import { type DrainCheck, startDrainCheck } from "./drained.ts";
import { moveCheckpoints } from "./move-checkpoints.ts";

/**
 * After a new phase is written, processes that have not read it may send for a limited time. This
 * margin is added to that time, for requests under way and for clocks that run at different speeds.
 */
const MARGIN_MS = 1_500;
const DRAIN_POLL_MS = 300;
const ENDED_POLL_MS = 300;

/** What a growth needs: the cluster, the new number of partitions, and time limits. */
export interface GrowOptions {
  readonly kafka: KafkaConnection;
  /** The number of partitions that the topics get. */
  readonly partitions: number;
  /** Time in which consumers must reach the end of the log; otherwise the growth is cancelled. */
  readonly drainTimeoutMs: number;
  /**
   * Time in which processes that consume must end. Otherwise the growth is cancelled, or if a topic
   * may have grown, the command fails and the growth remains unfinished.
   */
  readonly endTimeoutMs: number;
  /** Gets a line for the operator at each step. */
  readonly report: (line: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Grows the topics. Returns the number of partitions before and after.
 * @throws CommandLineError if the growth cannot begin or continue. Its exit code is `notFinal` only
 * if the same command may succeed later.
 */
export async function growPartitions(options: GrowOptions): Promise<{ from: number; to: number }> {
  const { kafka, partitions, drainTimeoutMs, report, logger } = options;
  const sizes = await topicSizes(kafka);
  for (const { topic, partitions: size } of sizes) {
    if (partitions % size !== 0)
      throw new CommandLineError(
        `${topic.name} has ${size} partitions: --to must be a multiple of ${size}, and is ${partitions}.`,
        EXIT_CODES.usage,
      );
  }
  const from = Math.min(...sizes.map((one) => one.partitions));
  const before = await readPartitionGrowth(kafka);
  const running = before?.phase === "done" ? null : before;
  if (running !== null && running.partitions !== partitions)
    throw new CommandLineError(
      `a growth to ${running.partitions} partitions is not finished: finish it first, with --to ${running.partitions}.`,
      EXIT_CODES.failed,
    );
  if (running === null && from === partitions) return { from, to: partitions };
  const scope = new Scope();
  try {
    const producer = await scope.start("producer", () => startProducer(kafka));
    const drainCheck = await scope.start("drain check", () => startDrainCheck(kafka, drainTimeoutMs, logger));
    const growth = new Growth(options, producer, drainCheck, from, before);
    // An earlier run may have ended before every process had read the announcement.
    if (running === null || running.phase === "announced") await growth.announce();
    if (running !== null && mayHaveGrown(running)) await growth.waitUntilEnded();
    else await growth.drainAndEnd();
    await growth.grow();
    report(`Done: the topics have ${partitions} partitions, and the processes start again.`);
    return { from, to: partitions };
  } finally {
    await scope.stop();
  }
}

/** Whether topics may have grown. They grow only after all processes that consume have ended. */
function mayHaveGrown({ phase, growing }: PartitionGrowth): boolean {
  return phase === "moving" && growing;
}

class Growth {
  readonly #options: GrowOptions;
  readonly #producer: Producer;
  readonly #drainCheck: DrainCheck;
  /** The lowest number of partitions of a topic at the start of the command. */
  readonly #from: number;
  /** Time of the last growth that was completed; null if there was none. */
  readonly #grownAt: string | null;
  /** Whether an earlier run may have grown topics: then the growth cannot be cancelled. */
  readonly #growing: boolean;

  constructor(
    options: GrowOptions,
    producer: Producer,
    drainCheck: DrainCheck,
    from: number,
    before: PartitionGrowth | null,
  ) {
    this.#options = options;
    this.#producer = producer;
    this.#drainCheck = drainCheck;
    this.#from = from;
    this.#grownAt = before?.grownAt ?? null;
    this.#growing = before !== null && mayHaveGrown(before);
  }

  /** Writes the phase `announced`, and waits until only processes that have read it may send. */
  async announce(): Promise<void> {
    const { report, partitions } = this.#options;
    report(`Announcing the growth to ${partitions} partitions. Everything continues for a minute.`);
    await this.#write({ phase: "announced" });
    await delay(GROWTH_VALID_MS + MARGIN_MS);
  }

  /** Lets consumers handle everything in the log, and ends them. Cancels if they are too slow. */
  async drainAndEnd(): Promise<void> {
    const { report } = this.#options;
    for (;;) {
      report(
        "Changes are rejected, and valuations wait, until the services start again. The consumers handle the rest of the log.",
      );
      await this.#write({ phase: "draining" });
      await delay(GROWTH_VALID_WHILE_GROWING_MS + MARGIN_MS);
      await this.#waitUntilDrained();
      faultPoint("grow.drained");
      await this.#write({ phase: "moving" });
      report("The consuming processes end now. Restarted processes wait until the topics have grown.");
      await this.waitUntilEnded();
      const behind = await this.#drainCheck.behind();
      if (behind.length === 0) return;
      report(`A process ended before it had stored everything (${behind.join("; ")}). Draining again.`);
    }
  }

  /**
   * Waits until no consumer group has members, and no process may send any more. Throws if
   * processes are too slow, see `endTimeoutMs`.
   */
  async waitUntilEnded(): Promise<void> {
    const { kafka, endTimeoutMs, clock } = this.#options;
    const endMs = clock.nowMs() + endTimeoutMs;
    await delay(GROWTH_VALID_WHILE_GROWING_MS + MARGIN_MS);
    for (;;) {
      const groups = await groupsWithMembers(kafka);
      if (groups.length === 0) return;
      if (clock.nowMs() > endMs) {
        const reason = `processes still consume: groups ${groups.join(", ")}`;
        if (!this.#growing) return this.#cancel(reason);
        throw new CommandLineError(`${reason}. End them, then run the command again.`, EXIT_CODES.notFinal);
      }
      await delay(ENDED_POLL_MS);
    }
  }

  /** Grows the topics, moves the checkpoints, and lets the processes start. */
  async grow(): Promise<void> {
    const { kafka, partitions, report, logger } = this.#options;
    faultPoint("grow.ended");
    await this.#write({ phase: "moving", growing: true });
    await growTopics(kafka, partitions);
    faultPoint("grow.grown");
    const accounts = await moveCheckpoints({ kafka, partitions, logger });
    report(`The topics have grown, and the checkpoints of ${accounts} accounts have moved.`);
    faultPoint("grow.moved");
    const grownAt = toIso(this.#options.clock.nowMs());
    await this.#write({ phase: "done", partitions, grownAt });
  }

  async #waitUntilDrained(): Promise<void> {
    const { drainTimeoutMs, clock } = this.#options;
    const endMs = clock.nowMs() + drainTimeoutMs;
    for (;;) {
      const behind = await this.#drainCheck.behind();
      if (behind.length === 0) return;
      if (clock.nowMs() > endMs)
        return this.#cancel(`not everything was handled within ${drainTimeoutMs / 1_000} s: ${behind.join("; ")}`);
      await delay(DRAIN_POLL_MS);
    }
  }

  async #cancel(reason: string): Promise<never> {
    await this.#write({ phase: "done", partitions: this.#from });
    throw new CommandLineError(
      `${reason}. The growth is cancelled, and everything continues with the former number of partitions.`,
      EXIT_CODES.notFinal,
    );
  }

  #write(growth: Pick<PartitionGrowth, "phase"> & Partial<PartitionGrowth>): Promise<void> {
    const { partitions, clock } = this.#options;
    const at = toIso(clock.nowMs());
    return writePartitionGrowth(this.#producer, { partitions, at, grownAt: this.#grownAt, growing: false, ...growth });
  }
}
