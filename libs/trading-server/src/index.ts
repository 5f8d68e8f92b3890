export * from "./client.ts";
export * from "./contract.ts";
