import { fileURLToPath } from "node:url";

import type { MigrationDirectory } from "@kapi/postgres";

export { Bridge } from "./bridge.ts";
export {
  type AccountHistory,
  type ChangeBody,
  type ContractOperations,
  notConfigured,
  type SubmittedChange,
} from "./contract-operations.ts";
export { registerContractRoutes, AnswerLost } from "./http/contract-routes.ts";
export { Committer, type StateText } from "./journal/committer.ts";
export { startHousekeeping } from "./journal/housekeeping.ts";
export type { Progress, StoredState } from "./journal/ports.ts";
export { createJournal } from "./journal/postgres-journal.ts";
export { createStoredState } from "./journal/stored-state.ts";
export type { ChangeResult, Rejection, TradingPlatform } from "./platform.ts";
export { startPublishing } from "./publishing/publishing.ts";

/**
 * Migrations of the journal and the states, for the `directories` of `migrate`. They keep the name
 * "service" because databases recorded it when the simulator had these migrations.
 */
export const BRIDGE_MIGRATIONS: MigrationDirectory = {
  name: "service",
  path: fileURLToPath(new URL("../migrations", import.meta.url)),
};
