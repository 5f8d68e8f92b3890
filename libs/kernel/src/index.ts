export * from "./assert.ts";
export * from "./batcher.ts";
export * from "./canonical-json.ts";
export * from "./clock.ts";
export * from "./deferred.ts";
export * from "./ids.ts";
export * from "./money.ts";
export * from "./passwords.ts";
