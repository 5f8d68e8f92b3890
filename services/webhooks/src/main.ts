import { runMain } from "@kapi/runtime";

import { ConfigSchema } from "./config.ts";
import { startService } from "./service.ts";

await runMain({
  service: "webhooks",
  schema: ConfigSchema,
  start: async (context) => {
    await startService(context);
  },
});
