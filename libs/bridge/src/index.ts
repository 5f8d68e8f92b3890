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
export { addContractRoutes, AnswerLost } from "./http/contract-routes.ts";
export { Committer, type StateText } from "./journal/committer.ts";
export { startHousekeeping } from "./journal/housekeeping.ts";
export type { Progress, StoredState } from "./journal/ports.ts";
export { createJournal } from "./journal/postgres-journal.ts";
export { createStoredState } from "./journal/stored-state.ts";
export type { ChangeResult, Rejection, TradingPlatform } from "./platform.ts";
export { startPublishing } from "./publishing/publishing.ts";

/**
 * The migrations of journal and states: one of the `directories` of the program's `migrate`.
 * Databases know them as those of the simulator, whose folder they were in.
 */
export const BRIDGE_MIGRATIONS: MigrationDirectory = {
  name: "service",
  path: fileURLToPath(new URL("../migrations", import.meta.url)),
};
