export * from "./client.ts";
export { isUnreachable, wasNotCarriedOut } from "./node.ts";
export { startRedisClock } from "./redis-clock.ts";
export { arrayReply, numberReply, textReply } from "./replies.ts";
export { redisOptions } from "./settings.ts";
