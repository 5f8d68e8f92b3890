import type { PartitionGrowth } from "@kapi/contracts";

/** A producer that can continue after its topics have grown. */
export interface GrowingProducer {
  /**
   * Chooses the partition of each waiting message again, by its key. `counts`: the new numbers of
   * partitions, by the name of the topic in the cluster.
   */
  repartition(counts: ReadonlyMap<string, number>): Promise<void>;
}

/** What a process knows about the growth of topics. */
export interface GrowthWatch {
  /** The newest record; null if no growth was ever announced. */
  readonly growth: PartitionGrowth | null;
  /** Whether a producer may send now. `isSource`: see `ProducerOptions`. */
  mayPublish(isSource: boolean): boolean;
  /** Adds a producer; returns a function that removes the producer. */
  add(producer: GrowingProducer): () => void;
  /** Calls `listener` after each growth, unless the growth ends this process. */
  onGrown(listener: () => void): void;
}
