interface Place {
  readonly topic: string;
  readonly partition: number;
  end: bigint;
  position: bigint;
  /**
   * When a handler last answered. If the partition was at its end since then: when the next message
   * was fetched.
   */
  answeredMs: number;
}

/** The lag of a consumer or a reader behind the ends of its partitions, as of the last fetches. */
export class Lag {
  /** By topic and partition: the end of the log, and the offset of the first unhandled message. */
  readonly #places = new Map<string, Place>();

  /** Records the end of a partition, as a fetch reported it, and the first fetched offset. */
  fetched(topic: string, partition: number, end: bigint, first: bigint, nowMs: number): void {
    const place = this.#places.get(`${topic}/${partition}`);
    if (place === undefined)
      this.#places.set(`${topic}/${partition}`, { topic, partition, end, position: first, answeredMs: nowMs });
    else {
      if (place.position >= place.end) place.answeredMs = nowMs;
      place.end = end;
    }
  }

  /** The handler of a batch has answered, or has asked for a retry. */
  answered(topic: string, partition: number, nowMs: number): void {
    const place = this.#places.get(`${topic}/${partition}`);
    if (place !== undefined) place.answeredMs = nowMs;
  }

  /**
   * Describes a partition whose messages wait although no handler has answered for longer than
   * `limitMs`. Returns null if there is none.
   */
  stalled(limitMs: number, nowMs: number): string | null {
    for (const { topic, partition, end, position, answeredMs } of this.#places.values()) {
      const waitingMs = nowMs - answeredMs;
      if (position < end && waitingMs > limitMs)
        return `partition ${partition} of ${topic} stands at ${position} of ${end} for ${waitingMs} ms`;
    }
    return null;
  }

  /** All messages before `position` are handled. */
  reached(topic: string, partition: number, position: bigint): void {
    const place = this.#places.get(`${topic}/${partition}`);
    if (place !== undefined) place.position = position;
  }

  /** Forgets all partitions: after a join, another process may have them. */
  forget(): void {
    this.#places.clear();
  }

  /** One value for each fetched partition. */
  observe(attributes: Readonly<Record<string, string>>): { value: number; attributes: Record<string, string> }[] {
    return Array.from(this.#places.values(), ({ topic, partition, end, position }) => ({
      value: Math.max(0, Number(end - position)),
      attributes: { ...attributes, topic, partition: String(partition) },
    }));
  }
}
