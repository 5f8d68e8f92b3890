import { runMain } from "@kapi/runtime";

import { ConfigSchema } from "./config.ts";
import { migrateDatabase, startService } from "./service.ts";

await runMain({ service: "trading-simulator", schema: ConfigSchema, start: startService, migrate: migrateDatabase });
