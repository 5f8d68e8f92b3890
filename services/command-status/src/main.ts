import { runMain } from "@kapi/runtime";

import { ConfigSchema } from "./config.ts";
import { startService } from "./service.ts";

await runMain({
  service: "command-status",
  schema: ConfigSchema,
  start: async (context) => {
    await startService(context);
  },
});
