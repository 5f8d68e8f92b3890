export * from "./fields.ts";
export * from "./valuation.ts";
