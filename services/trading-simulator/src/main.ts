import { runMain } from "@kapi/runtime";

import { Config } from "./config.ts";
import { migrateDatabase, startService } from "./service.ts";

await runMain({ service: "trading-simulator", schema: Config, start: startService, migrate: migrateDatabase });
