import { z } from "zod";

/** Key of the only record of `partition.growth`. */
export const PARTITION_GROWTH_KEY = "growth";

/**
 * How far the topics have grown to more partitions (decisions, 28). `announced`: every process may
 * still send, if it has read this record within the last 3 s. `draining`: nothing new enters kapi;
 * consumers handle everything that is in the log. `moving`: only the command that grows the topics
 * writes. All processes except gateways and trading servers end; a process that starts waits until
 * `done`. `done`: the topics have `partitions` partitions.
 */
export const PartitionGrowth = z.object({
  phase: z.enum(["announced", "draining", "moving", "done"]),
  /** The number of partitions of each topic that grows, after the growth. */
  partitions: z.int().min(1),
  /** When the phase began. */
  at: z.iso.datetime(),
  /**
   * In phase `moving`: whether topics may have grown, so that the growth cannot be cancelled.
   * Records of earlier releases do not say it.
   */
  growing: z.boolean().default(true),
  /** When the topics grew last; null: never. A growth that was cancelled does not change it. */
  grownAt: z.iso.datetime().nullable(),
});
export type PartitionGrowth = z.infer<typeof PartitionGrowth>;
