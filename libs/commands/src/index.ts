export * from "./executor.ts";
export * from "./store.ts";
