import { runMain } from "@kapi/runtime";

import { ConfigSchema } from "./config.ts";
import { migrateDatabase, startService } from "./service.ts";

await runMain({
  service: "webhooks",
  schema: ConfigSchema,
  migrate: migrateDatabase,
  start: async (context) => {
    await startService(context);
  },
});
