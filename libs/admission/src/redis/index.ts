export * from "./admission-functions.ts";
export * from "./keys.ts";
export * from "./library.ts";
export { type ShardReplies } from "./shard-replies.ts";
export * from "./shard-snapshot.ts";
export { deleteUsage, readUsage, USAGE_STREAM_LIMIT, type UsageEntry, usageBacklog } from "./usage-stream.ts";
export * from "./wallet-functions.ts";
export { type WalletState } from "./wallet-state.ts";
