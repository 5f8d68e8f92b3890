/** How far a consumer or a reader is behind the end of its partitions, as its last fetches told. */
export class Lag {
  /** By topic and partition: the end of the log, and the offset before which all is handled. */
  readonly #places = new Map<string, { topic: string; partition: number; end: bigint; position: bigint }>();

  /** The end of a partition, as a fetch told it, and the first offset that it brought. */
  fetched(topic: string, partition: number, end: bigint, first: bigint): void {
    const place = this.#places.get(`${topic}/${partition}`);
    if (place === undefined) this.#places.set(`${topic}/${partition}`, { topic, partition, end, position: first });
    else place.end = end;
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
