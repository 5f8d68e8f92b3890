export * from "./connection.ts";
export * from "./consumer.ts";
export { ProduceError, RetryableError } from "./errors.ts";
export type { PartitionAssignment } from "./generations.ts";
export * from "./log-reader.ts";
export * from "./message.ts";
export * from "./partitioner.ts";
export * from "./producer.ts";
export * from "./topics.ts";
