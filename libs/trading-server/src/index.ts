export { createAddresses, type TradingServerAddress } from "./addresses.ts";
export * from "./client.ts";
export * from "./contract.ts";
export * from "./unreachable.ts";
