/**
 * Every service is restarted under load, one process after another, as a release does. In full, both processes of each under
 * 200 mutations a second and 200 live sockets: `npm run test:rolling`.
 */
import { expect, it } from "vitest";

import { drill } from "./drill.ts";

const SEED = Number(process.env["ROLLING_SEED"] ?? Date.now() % 1_000_000);
/** What a machine of two slow cores still does beside everything else that runs on it. */
const LOAD = { accounts: 20, sockets: 40, mutations: 25, reads: 10 };
/** Of all mutations, on a machine that cannot keep up for a moment; a service that turns requests away is a finding. */
const MAX_LATE_SHARE = 0.05;
const TEST_TIMEOUT_MS = 240_000;

it(
  `while every service is restarted, each request is served, at most after one more try with the same key; money and sequences are right (ROLLING_SEED=${SEED})`,
  { timeout: TEST_TIMEOUT_MS },
  async () => {
    const { findings, complaints, restarts, traffic, late, live } = await drill({ ...LOAD, seed: SEED, both: false });
    expect({ findings, complaints }).toEqual({ findings: [], complaints: [] });
    // What the drill is about has happened.
    expect(restarts.length).toBeGreaterThanOrEqual(9);
    expect(traffic.mutations).toBeGreaterThan(restarts.length * LOAD.mutations);
    expect(late).toBeLessThan(traffic.mutations * MAX_LATE_SHARE);
    expect(live.closed).toBeGreaterThan(0);
    expect(live.samples).toBeGreaterThan(traffic.mutations);
  },
);
