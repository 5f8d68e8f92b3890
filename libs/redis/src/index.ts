export * from "./claim-functions.ts";
export * from "./client.ts";
export * from "./keys.ts";
export { type WalletState } from "./replies.ts";
export * from "./usage-stream.ts";
export * from "./wallet-functions.ts";
