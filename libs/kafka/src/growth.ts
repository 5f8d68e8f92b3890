import type { PartitionGrowth } from "@kapi/contracts";

/** What a producer does when topics have grown: it chooses partitions anew. */
export interface GrowingProducer {
  repartition(counts: ReadonlyMap<string, number>): Promise<void>;
}

/** What a process knows of the growth of topics. */
export interface GrowthWatch {
  /** The newest record; null if the topics never grew. */
  readonly growth: PartitionGrowth | null;
  /** Whether a producer may send now; `isSource`: what the producer sends enters kapi. */
  mayPublish(isSource: boolean): boolean;
  /** Adds a producer; returns a function that removes the producer. */
  add(producer: GrowingProducer): () => void;
  /** Calls `listener` after each growth that this process goes through. */
  onGrown(listener: () => void): void;
}
