import { runMain } from "@kapi/runtime";

import { configSchema } from "./config.ts";
import { migrateDatabase, startMetrics } from "./service.ts";

await runMain({ service: "metrics", schema: configSchema, start: startMetrics, migrate: migrateDatabase });
