/** The usage per day and operation equals the sums of the usage lines. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";

import { systemClock } from "@kapi/kernel";
import { statement } from "@kapi/postgres";
import { admit, ALL_SHARDS, refund } from "@kapi/admission/redis";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { LedgerEntry } from "../src/domain/credits/ledger-entry.ts";
import { listUsageByDay } from "../src/operations/credits/list-usage-by-day.ts";
import { recordUnderLocks } from "../src/operations/credits/record-under-locks.ts";
import { recordAllUsage } from "../src/operations/credits/record-usage.ts";
import { createUsageLines } from "../src/outbound/postgres/credits/usage-lines.ts";
import { finish, organizationWith, read, reserve, startLedger, type LedgerHarness } from "./support.ts";

const DAY_MS = 24 * 3_600_000;
const MIGRATION = new URL("../migrations/0006_count_usage_by_day.sql", import.meta.url);

interface Day {
  readonly day: string;
  readonly operation: string;
  readonly requests: number;
  readonly credits: number;
}

const selectKept = statement<Day>(
  "test_usage_days",
  `select to_char(day, 'YYYY-MM-DD') as day, operation, requests, credits from usage_days
   where organization_id = $1 and (requests <> 0 or credits <> 0) order by day, operation`,
);
// Sums of the lines of listCreditUsage (usage-lines.ts).
const selectOfLines = statement<Day>(
  "test_usage_days_of_lines",
  `select to_char(line.at at time zone 'UTC', 'YYYY-MM-DD') as day, coalesce(reserved.operation, line.operation) as operation,
     count(*) filter (where line.leg in ('consume', 'reserve')) as requests,
     sum(case when line.leg in ('consume', 'reserve') then line.credits else -line.credits end)::bigint as credits
   from all_credit_entries as line left join all_credit_entries as reserved
     on line.leg = 'settle' and reserved.charge_id = line.charge_id and reserved.leg = 'reserve'
   where line.organization_id = $1 and line.credits > 0
     and (line.leg in ('consume', 'refund', 'reserve') or line.action = 'release')
   group by 1, 2 order by 1, 2`,
);

let harness: LedgerHarness;
beforeAll(async () => {
  harness = await startLedger();
});
afterAll(() => harness.stop());

async function kept(organizationId: string): Promise<Day[]> {
  return harness.database.query(selectKept, [organizationId]);
}

async function ofLines(organizationId: string): Promise<Day[]> {
  return harness.database.query(selectOfLines, [organizationId]);
}

/** A request of an organization, or the recording of all usage. */
type Step =
  | { readonly kind: "read"; readonly price: number }
  | { readonly kind: "refunded"; readonly price: number }
  | { readonly kind: "record" }
  | {
      readonly kind: "command";
      readonly credits: number;
      /**
       * The command's entries in the ledger before its final event: none, the reservation with its
       * request, or an open reservation from a sync.
       */
      readonly before: "nothing" | "request" | "open";
      readonly end: End | null;
    };
interface End {
  readonly action: "consume" | "release";
  /** The age of the command's final event, in days. */
  readonly daysAgo: number;
  /** How often the final event is recorded. */
  readonly times: number;
  /** Whether the settlement is recorded without reading the usage stream. */
  readonly blind: boolean;
}

const price = fc.integer({ min: 0, max: 9 });
const end = fc.record({
  action: fc.constantFrom("consume" as const, "release" as const),
  daysAgo: fc.integer({ min: 0, max: 2 }),
  times: fc.integer({ min: 1, max: 2 }),
  blind: fc.boolean(),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("read" as const), price }),
  fc.record({ kind: fc.constant("refunded" as const), price }),
  fc.constant({ kind: "record" as const }),
  fc.record({
    kind: fc.constant("command" as const),
    credits: price,
    before: fc.constantFrom("nothing" as const, "request" as const, "open" as const),
    end: fc.option(end),
  }),
);

async function carryOut(organizationId: string, steps: readonly Step[]): Promise<void> {
  const { context } = harness;
  for (const one of steps) {
    if (one.kind === "read") await read(context, organizationId, one.price);
    else if (one.kind === "refunded") await refunded(organizationId, one.price);
    else if (one.kind === "record") await recordAllUsage(context, ALL_SHARDS);
    else await carryOutCommand(organizationId, one);
  }
}

async function refunded(organizationId: string, credits: number): Promise<void> {
  const request = { organizationId, chargeId: randomUUID(), operation: "listCommands", requestId: "request" };
  const rest = { callerName: "aaaaaaaaaaaaaaaa", mode: "consume" as const, readPrice: 1, rateLimit: null, records: [] };
  await admit(harness.context.redis, { ...request, ...rest, price: credits });
  await refund(harness.context.redis, request);
}

async function carryOutCommand(organizationId: string, step: Step & { readonly kind: "command" }): Promise<void> {
  const { context } = harness;
  const commandId = await reserve(context, organizationId, step.credits);
  const command = { organizationId, commandId, credits: step.credits, atMs: systemClock.nowMs() };
  if (step.before === "request") await recordAllUsage(context, ALL_SHARDS);
  if (step.before === "open") await recordWithoutRequest({ ...command, action: null });
  if (step.end === null) return;
  const { action, daysAgo, times, blind } = step.end;
  const clock = { nowMs: () => systemClock.nowMs() - daysAgo * DAY_MS };
  for (let time = 0; time < times; time += 1) {
    if (blind) await recordWithoutRequest({ ...command, action, atMs: clock.nowMs() });
    else await finish({ ...context, clock }, organizationId, commandId, step.credits, action);
  }
}

/**
 * Records a command without the details of its request. With an action, it records what the final
 * event reports; without an action, what a sync reports.
 */
async function recordWithoutRequest(command: {
  readonly organizationId: string;
  readonly commandId: string;
  readonly credits: number;
  readonly action: "consume" | "release" | null;
  readonly atMs: number;
}): Promise<void> {
  const { action, commandId, ...rest } = command;
  const entry = { ...rest, chargeId: commandId, commandId, operation: "finance.deposit", requestId: null };
  const reserved: LedgerEntry = { ...entry, kind: "reserve", action: null };
  const entries: LedgerEntry[] = action === null ? [reserved] : [reserved, { ...entry, kind: "settle", action }];
  await harness.context.store.transaction((tx) => recordUnderLocks(tx, entries, command.atMs));
}

test("the usage of each day and operation is the sum of its usage lines, also with refunds, repeats, and late or reordered entries", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const organizationId = await organizationWith(harness, 1_000);
      await carryOut(organizationId, steps);
      expect(await kept(organizationId)).toEqual(await ofLines(organizationId));
      await recordAllUsage(harness.context, ALL_SHARDS);
      expect(await kept(organizationId)).toEqual(await ofLines(organizationId));
    }),
    { numRuns: 12 },
  );
});

test("a release that is recorded before its request stays on its day, and later counts for the request's operation", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 100);
  const commandId = await reserve(context, organizationId, 7);
  const atMs = systemClock.nowMs() - DAY_MS;
  await recordWithoutRequest({ organizationId, commandId, credits: 7, action: "release", atMs });
  expect(await kept(organizationId)).toMatchObject([{ operation: "finance.deposit", requests: 1, credits: 0 }]);
  await recordAllUsage(context, ALL_SHARDS);
  const days = await kept(organizationId);
  expect(days).toEqual(await ofLines(organizationId));
  expect(days).toMatchObject([
    { operation: "getCommand", requests: 0, credits: -7 },
    { operation: "getCommand", requests: 1, credits: 7 },
  ]);
});

test("a reservation that a sync recorded counts for the request's operation after the request and the release are recorded together", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 100);
  const commandId = await reserve(context, organizationId, 7);
  await recordWithoutRequest({
    organizationId,
    commandId,
    credits: 7,
    action: null,
    atMs: systemClock.nowMs() - DAY_MS,
  });
  expect(await kept(organizationId)).toMatchObject([{ operation: "finance.deposit", requests: 1, credits: 7 }]);
  await finish(context, organizationId, commandId, 7, "release");
  expect(await kept(organizationId)).toEqual(await ofLines(organizationId));
  expect(await kept(organizationId)).toMatchObject([{ operation: "getCommand", requests: 1, credits: 0 }]);
});

test("the migration computes the same usage by day as the updates with each entry", async () => {
  const organizationId = await organizationWith(harness, 1_000);
  const ends = (action: "consume" | "release", daysAgo: number): End => ({ action, daysAgo, times: 1, blind: false });
  await carryOut(organizationId, [
    { kind: "read", price: 3 },
    { kind: "refunded", price: 4 },
    { kind: "command", credits: 5, before: "request", end: ends("release", 0) },
    { kind: "command", credits: 6, before: "nothing", end: ends("consume", 1) },
    { kind: "record" },
  ]);
  const before = await kept(organizationId);
  const text = readFileSync(MIGRATION, "utf8");
  const insert = text.slice(text.indexOf("insert into usage_days")).replaceAll("credit_legs", "all_credit_entries");
  await harness.database.transaction(async (tx) => {
    await tx.query(statement("test_usage_days_delete", `delete from usage_days`), []);
    await tx.query(statement("test_usage_days_fill", insert), []);
  });
  expect(await kept(organizationId)).toEqual(before);
});

test("usage by day has each requested day of one organization, oldest first, and for each day the most expensive operations first", async () => {
  const { context } = harness;
  const [organizationId, other] = [await organizationWith(harness, 100), await organizationWith(harness, 100)];
  await read(context, organizationId, 3);
  await refunded(organizationId, 9);
  await read(context, other, 50);
  await recordAllUsage(context, ALL_SHARDS);
  const usageLines = createUsageLines(harness.database);
  const { days } = await listUsageByDay({ usageLines, clock: systemClock }, organizationId, 3);
  expect(days).toHaveLength(3);
  expect(days.map(({ day }) => day)).toEqual(days.map(({ day }) => day).toSorted());
  expect(days.map(({ operations }) => operations)).toEqual([
    [],
    [],
    [
      { operation: "getCommand", requests: 1, credits: 3 },
      { operation: "listCommands", requests: 1, credits: 0 },
    ],
  ]);
});
