import { runMain } from "@kapi/runtime";

import { Config } from "./config.ts";
import { startService } from "./service.ts";

await runMain({ service: "trading-server", schema: Config, start: startService });
