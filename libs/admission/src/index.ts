export * from "./allowed-networks.ts";
export * from "./available-credits.ts";
export * from "./admission.ts";
export * from "./authenticate.ts";
export * from "./authorize.ts";
export { type Directory, type DirectoryOptions, startDirectory } from "./directory.ts";
export * from "./known-accounts.ts";
export * from "./repeated-refunds.ts";
export * from "./request-log.ts";
