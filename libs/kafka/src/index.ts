export * from "./connection.ts";
export * from "./batch.ts";
export * from "./consumer.ts";
export type { Consumer, ConsumerOptions } from "./consumer-options.ts";
export { countDeadLetters } from "./dead-letters.ts";
export {
  MessageTooLarge,
  PositionBeyondEnd,
  ProduceError,
  retryable,
  RetryableError,
  TopicRecreated,
} from "./errors.ts";
export type { PartitionAssignment } from "./generations.ts";
export * from "./grow-topics.ts";
export type { GrowthWatch } from "./growth.ts";
export { GROWTH_VALID_MS, GROWTH_VALID_WHILE_GROWING_MS, startGrowthWatch } from "./growth-watch.ts";
export * from "./log-range.ts";
export * from "./group-progress.ts";
export * from "./log-reader.ts";
export type { LogReader, LogReaderOptions } from "./log-reader-options.ts";
export * from "./message.ts";
export * from "./partitioner.ts";
export * from "./producer.ts";
export { kafkaOptions } from "./settings.ts";
export { topicIds } from "./topic-ids.ts";
export * from "./topics.ts";
