export * from "./builders.ts";
export * from "./environment.ts";
export * from "./eventually.ts";
export * from "./measurements.ts";
export * from "./test-clock.ts";
export type { TestKafka } from "./test-kafka.ts";
export type { TestRedis } from "./test-redis.ts";
export * from "./stack.ts";
export { STATE_VARIABLE } from "./state-folder.ts";
