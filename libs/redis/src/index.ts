export * from "./claim-functions.ts";
export * from "./client.ts";
export * from "./console-functions.ts";
export * from "./keys.ts";
export { type WalletState } from "./replies.ts";
export { redisOptions } from "./settings.ts";
export * from "./tag-snapshot.ts";
export { deleteUsage, readUsage, USAGE_STREAM_LIMIT, type UsageEntry, usageBacklog } from "./usage-stream.ts";
export * from "./wallet-functions.ts";
