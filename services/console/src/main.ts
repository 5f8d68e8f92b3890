import { runMain } from "@kapi/runtime";

import { Config } from "./config.ts";
import { migrateDatabase, start } from "./service.ts";

await runMain({ service: "console", schema: Config, start, migrate: migrateDatabase });
