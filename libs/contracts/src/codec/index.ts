export * from "./fields.ts";
export * from "./sample-headers.ts";
export * from "./valuation.ts";
