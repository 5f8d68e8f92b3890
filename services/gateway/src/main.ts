import { runMain } from "@kapi/runtime";

import { ConfigSchema } from "./config.ts";
import { startService } from "./service.ts";

await runMain({ service: "gateway", schema: ConfigSchema, start: startService });
