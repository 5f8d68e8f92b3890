import { fileURLToPath } from "node:url";

import type { MigrationDirectory } from "@kapi/postgres";

export { addDays, daysBetween, utcDay } from "./day.ts";
export * from "./maker.ts";
export {
  findDay,
  lockServer,
  type LateRecord,
  nextDay,
  noteLateRecords,
  type ServerProgress,
  takeLateRecordsOf,
} from "./progress.ts";

/** The migrations of the library's tables. A service names them in `directories` of its schema. */
export const DIGESTS_MIGRATIONS: MigrationDirectory = {
  name: "digests",
  path: fileURLToPath(new URL("../migrations", import.meta.url)),
};
