import { randomUUID } from "node:crypto";

import { delay } from "@kapi/kernel";
import { ALL_SHARDS } from "@kapi/admission/redis";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";

import { applyPending } from "../src/operations/credits/apply-pending.ts";
import { syncShards } from "../src/operations/credits/sync-shards.ts";
import { purchaseCredits } from "../src/operations/credits/purchase-credits.ts";
import { recordAllUsage } from "../src/operations/credits/record-usage.ts";
import {
  finish,
  ledgerSums,
  organizationWith,
  read,
  redisSums,
  reserve,
  startLedger,
  type LedgerHarness,
} from "./support.ts";

const RUNS = 12;
const MAX_STEPS = 60;
const MAX_START_DELAY_MS = 25;
const PRICE = 7;

let harness: LedgerHarness;
beforeAll(async () => {
  harness = await startLedger();
});
afterAll(() => harness.stop());

const kinds = fc.constantFrom("read", "read", "command", "command", "record", "buy", "lose", "sync", "apply");
const steps = fc.array(fc.record({ kind: kinds, afterMs: fc.integer({ min: 0, max: MAX_START_DELAY_MS }) }), {
  minLength: 10,
  maxLength: MAX_STEPS,
});

/**
 * Runs a command: reserves its credits, publishes it, and ends it. Between the publication and the
 * end, command-status has the command as open.
 */
async function command(organizationId: string, action: "consume" | "release"): Promise<void> {
  const { context, commands } = harness;
  const commandId = await reserve(context, organizationId, PRICE);
  const open = { commandId, organizationId, reservedCredits: PRICE };
  commands.open = [...commands.open, open];
  await delay(1);
  commands.open = commands.open.filter((other) => other !== open);
  await finish(context, organizationId, commandId, PRICE, action);
}

async function runStep(kind: string, organizationId: string, at: number): Promise<void> {
  const { context } = harness;
  switch (kind) {
    case "read":
      await read(context, organizationId, 3);
      break;
    case "command":
      await command(organizationId, at % 3 === 0 ? "release" : "consume");
      break;
    case "record":
      await recordAllUsage(context, ALL_SHARDS);
      break;
    case "buy":
      await purchaseCredits(context, { organizationId, credits: 11, purchaseId: randomUUID() });
      break;
    case "lose":
      await context.redis.commands.flushall();
      break;
    case "sync":
      await syncShards(context, ALL_SHARDS);
      break;
    default:
      await applyPending(context);
  }
}

test("after any loss of all Redis data, the synced wallets equal the ledger", async () => {
  const { context } = harness;
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const organizationId = await organizationWith(harness, 1_000);
      await Promise.all(
        sequence.map(async ({ kind, afterMs }, at) => {
          await delay(afterMs);
          await runStep(kind, organizationId, at);
        }),
      );
      await syncShards(context, ALL_SHARDS);
      await recordAllUsage(context, ALL_SHARDS);
      while ((await applyPending(context)) > 0);
      const { kept, derived } = await ledgerSums(harness, organizationId);
      expect(derived).toEqual(kept);
      expect(await redisSums(context, organizationId)).toEqual(kept);
      expect(kept.reserved).toBe(0);
    }),
    { numRuns: RUNS },
  );
});
