/** The lag of one partition is `end` - `position`. */
interface PartitionLag {
  readonly topic: string;
  readonly partition: number;
  /** The offset after the last record, as of the last fetch. */
  end: bigint;
  /** The offset of the first unhandled message. */
  position: bigint;
  /**
   * When the time without an answer began: at the last answer of a handler, or at a later fetch
   * before which all messages were handled.
   */
  answeredMs: number;
}

/** The lag of a consumer behind the ends of its partitions, as of the last fetches. */
export class Lag {
  /** By `topic/partition`. */
  readonly #partitions = new Map<string, PartitionLag>();

  /**
   * Records the end of a partition, as a fetch reported it. `first` is the first fetched offset:
   * the position of a partition that has no entry yet.
   */
  fetched(topic: string, partition: number, end: bigint, first: bigint, nowMs: number): void {
    const lag = this.#partitions.get(`${topic}/${partition}`);
    if (lag === undefined)
      this.#partitions.set(`${topic}/${partition}`, { topic, partition, end, position: first, answeredMs: nowMs });
    else {
      if (lag.position >= lag.end) lag.answeredMs = nowMs;
      lag.end = end;
    }
  }

  /** The handler of a batch has answered, or has asked for a retry. */
  answered(topic: string, partition: number, nowMs: number): void {
    const lag = this.#partitions.get(`${topic}/${partition}`);
    if (lag !== undefined) lag.answeredMs = nowMs;
  }

  /**
   * Describes a partition with unhandled messages whose handler has not answered for longer than
   * `limitMs`. Returns null if there is none.
   */
  stalled(limitMs: number, nowMs: number): string | null {
    for (const { topic, partition, end, position, answeredMs } of this.#partitions.values()) {
      const waitingMs = nowMs - answeredMs;
      if (position < end && waitingMs > limitMs)
        return `partition ${partition} of ${topic} stands at ${position} of ${end} for ${waitingMs} ms`;
    }
    return null;
  }

  /** All messages before `position` are handled. */
  reached(topic: string, partition: number, position: bigint): void {
    const lag = this.#partitions.get(`${topic}/${partition}`);
    if (lag !== undefined) lag.position = position;
  }

  /** Forgets all partitions: after a join, another process may have them. */
  forget(): void {
    this.#partitions.clear();
  }

  /** One value for each fetched partition. */
  observe(attributes: Readonly<Record<string, string>>): { value: number; attributes: Record<string, string> }[] {
    return Array.from(this.#partitions.values(), ({ topic, partition, end, position }) => ({
      value: Math.max(0, Number(end - position)),
      attributes: { ...attributes, topic, partition: String(partition) },
    }));
  }
}
