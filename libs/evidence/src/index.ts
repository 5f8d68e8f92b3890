export * from "./build-evidence.ts";
export * from "./decimal-text.ts";
export * from "./keys.ts";
export * from "./records.ts";
