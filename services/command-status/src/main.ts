import { runMain } from "@kapi/runtime";

import { ConfigSchema } from "./config.ts";
import { migrateDatabase, startService } from "./service.ts";

await runMain({ service: "command-status", schema: ConfigSchema, start: startService, migrate: migrateDatabase });
