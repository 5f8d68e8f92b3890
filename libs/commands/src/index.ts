import { fileURLToPath } from "node:url";

import type { MigrationDirectory } from "@kapi/postgres";

export { column, jsonLines } from "./columns.ts";
export * from "./executor.ts";
export { OPEN_BY_KEY } from "./statements.ts";
export { type CommandStore, type CommandStoreOptions, startCommandStore } from "./store.ts";
export type { FinalState, OpenCommand, WorkTransaction } from "./work.ts";
export { type CommandWorker, type CommandWorkerOptions, startCommandWorker } from "./worker.ts";
export { MAX_BATCH_COMMANDS } from "./limits.ts";
export { retryIfNotSent } from "./retry-if-not-sent.ts";

/** The migrations of inbox, leases and outbox: one of the `directories` that a service migrates. */
export const COMMANDS_MIGRATIONS: MigrationDirectory = {
  name: "commands",
  path: fileURLToPath(new URL("../migrations", import.meta.url)),
};
