/** Cases for every alert of deploy/observability: series that make the alert fire. */
import { API } from "./cases/api.ts";
import type { AlertCase } from "./cases/case.ts";
import { COMMANDS } from "./cases/commands.ts";
import { KAFKA } from "./cases/kafka.ts";
import { LIVE } from "./cases/live.ts";
import { MONEY } from "./cases/money.ts";
import { PROCESSES } from "./cases/processes.ts";
import { WEBHOOKS } from "./cases/webhooks.ts";

/** All cases; an alert may have several. */
export const CASES: readonly AlertCase[] = [
  ...PROCESSES,
  ...API,
  ...COMMANDS,
  ...MONEY,
  ...KAFKA,
  ...LIVE,
  ...WEBHOOKS,
];
