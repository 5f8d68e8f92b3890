import { runMain } from "@kapi/runtime";

import { program } from "./service.ts";

await runMain(program);
