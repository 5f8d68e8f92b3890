interface Place {
  readonly topic: string;
  readonly partition: number;
  end: bigint;
  position: bigint;
  /**
   * When a handler last answered; for a partition that was at rest: when its next message was
   * fetched.
   */
  answeredMs: number;
}

/**
 * How far a consumer or a reader is behind the end of its partitions, as its last fetches reported.
 */
export class Lag {
  /** By topic and partition: the end of the log, and the offset before which all is handled. */
  readonly #places = new Map<string, Place>();

  /** The end of a partition, as a fetch reported it, and the first offset that it brought. */
  fetched(topic: string, partition: number, end: bigint, first: bigint, nowMs: number): void {
    const place = this.#places.get(`${topic}/${partition}`);
    if (place === undefined)
      this.#places.set(`${topic}/${partition}`, { topic, partition, end, position: first, answeredMs: nowMs });
    else {
      if (place.position >= place.end) place.answeredMs = nowMs;
      place.end = end;
    }
  }

  /** The handler of a batch has answered, be it that the batch must be tried again. */
  answered(topic: string, partition: number, nowMs: number): void {
    const place = this.#places.get(`${topic}/${partition}`);
    if (place !== undefined) place.answeredMs = nowMs;
  }

  /**
   * A partition whose messages wait although no handler has answered for longer than `limitMs`;
   * else null.
   */
  stalled(limitMs: number, nowMs: number): string | null {
    for (const { topic, partition, end, position, answeredMs } of this.#places.values()) {
      const waitingMs = nowMs - answeredMs;
      if (position < end && waitingMs > limitMs)
        return `partition ${partition} of ${topic} stands at ${position} of ${end} for ${waitingMs} ms`;
    }
    return null;
  }

  /** Everything before `position` is handled. */
  reached(topic: string, partition: number, position: bigint): void {
    const place = this.#places.get(`${topic}/${partition}`);
    if (place !== undefined) place.position = position;
  }

  /** What was known is another process's now. */
  forget(): void {
    this.#places.clear();
  }

  /** One value for each partition that anything was fetched of. */
  observe(attributes: Readonly<Record<string, string>>): { value: number; attributes: Record<string, string> }[] {
    return Array.from(this.#places.values(), ({ topic, partition, end, position }) => ({
      value: Math.max(0, Number(end - position)),
      attributes: { ...attributes, topic, partition: String(partition) },
    }));
  }
}
