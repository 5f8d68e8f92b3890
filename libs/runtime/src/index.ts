export * from "./config.ts";
export * from "./config-fields.ts";
export * from "./fault-point.ts";
export * from "./health.ts";
export * from "./logger.ts";
export * from "./main.ts";
export * from "./metrics.ts";
export * from "./scope.ts";
