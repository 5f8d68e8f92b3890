import { afterAll, beforeAll, describe } from "vitest";

import { describeKeysAndCredits } from "./keys-and-credits.ts";
import { describeFirstPath } from "./first-path.ts";
import { type RunningSystem, startSystem } from "./system.ts";

let system: RunningSystem;

beforeAll(async () => {
  system = await startSystem();
});

afterAll(async () => {
  await system.stop();
});

describe("keys and credits", () => {
  describeKeysAndCredits({ stack: () => system.stack, demo: () => system.demo });
});

describe("the first path on simulated prices", () => {
  describeFirstPath({ demo: () => system.demo, postgresUrl: () => system.stack.servers.postgresUrl });
});
