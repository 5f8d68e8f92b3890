/** Daily digests of deals, compared with what the list of deals shows. */
import { randomUUID } from "node:crypto";

import { ACCOUNT_ROUTES, type Deal, type DealDigests, type TradingEvent } from "@kapi/contracts";
import { addDays, daysBetween, utcDay } from "@kapi/digests";
import { systemClock } from "@kapi/kernel";
import { statement } from "@kapi/postgres";
import { anyAccountNumber, eventEnvelope, eventually } from "@kapi/testkit";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { recordsHash } from "../../../docs/examples/daily-digest.ts";
import { deleteHistory } from "../src/outbound/postgres/delete-history.ts";
import { createDigestTable } from "../src/outbound/postgres/digest-table.ts";
import { createStagedHistory } from "../src/outbound/postgres/staged-history.ts";
import { HistoryHarness } from "./history-harness.ts";

const MAKING_TIMEOUT_MS = 30_000;
/** More deals than the digest maker reads at once: `READ_DEALS` in `digest-table.ts`. */
const MANY_DEALS = 1_200;

type Digest = Extract<DealDigests, { state: "made" }>["digests"][number];

/** $1 server, $2 first day of its digests. All earlier days count as made. */
const BEGIN_WITH = statement<never>(
  "test-begin-with",
  `insert into digest_servers (server_id, first_day, made_through) values ($1, $2::date, $2::date - 1)
   on conflict (server_id) do update set first_day = excluded.first_day, made_through = excluded.made_through`,
);
/** $1 server, $2 first day of its digests. The days that count as made stay the same. */
const SET_FIRST_DAY = statement<never>(
  "test-set-first-day",
  "update digest_servers set first_day = $2::date where server_id = $1",
);
const LOSE_LAST_DEAL = statement<never>(
  "test-lose-last-deal",
  `delete from deals where server_id = $1 and account_number = $2
     and n = (select max(n) from deals where server_id = $1 and account_number = $2)`,
);
const LATE_RECORDS = statement<{ count: number }>(
  "test-late-records",
  "select count(*) as count from late_records where server_id = $1",
);

let env: HistoryHarness;
let serverId: string;
let today: string;
let makers: { readonly stop: () => Promise<void> }[];
const yesterday = (): string => addDays(today, -1);

beforeAll(async () => {
  env = await HistoryHarness.create();
});
afterAll(() => env.stop());
beforeEach(async () => {
  today = utcDay(Date.now());
  serverId = randomUUID();
  makers = [];
  await env.makeServer(serverId);
});
afterEach(() => stopMakers());

async function stopMakers(): Promise<void> {
  await Promise.all(makers.map((maker) => maker.stop()));
  makers = [];
}

/**
 * Publishes the events, then starts `processes` digest makers, whose first day is `firstDay`. The
 * consumer starts last.
 */
async function published(events: readonly TradingEvent[], firstDay = yesterday(), processes = 1): Promise<void> {
  await env.stopConsumer();
  await env.database.query(BEGIN_WITH, [serverId, firstDay]);
  for (const accountNumber of new Set(events.map((event) => event.accountNumber))) {
    await env.makeKnown(accountNumber, serverId);
  }
  await env.publish(...events);
  makers = Array.from({ length: processes }, () => env.startDigests(serverId));
  await env.startConsumer();
}

/** Waits until the digests of a day are made; returns them by account number. */
function digestsOf(day: string, accountNumbers: readonly string[]): Promise<ReadonlyMap<string, Digest>> {
  return eventually(
    async () => {
      const { status, body } = await env.dealDigests(day, accountNumbers, serverId);
      expect(status).toBe(200);
      const answer = ACCOUNT_ROUTES.readDealDigests.answer.parse(body);
      if (answer.state !== "made") throw new Error(`the digests are ${answer.state}`);
      return new Map(answer.digests.map((digest) => [digest.accountNumber, digest]));
    },
    { timeoutMs: MAKING_TIMEOUT_MS },
  );
}

async function dealsOf(accountNumber: string): Promise<Deal[]> {
  const all: Deal[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const query: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const { body } = await env.get(accountNumber, `/deals?limit=100${query}`, serverId);
    const page = ACCOUNT_ROUTES.listAccountDeals.answer.parse(body);
    all.push(...page.deals);
    cursor = page.pagination.nextCursor;
  }
  return all;
}

const total = (values: readonly number[]): number =>
  Math.round(values.reduce((sum, value) => sum + value, 0) * 100) / 100;

/**
 * Expects that the digest of an account and a day equals a digest computed from the account's list
 * of deals.
 */
async function expectNaive(day: string, accountNumber: string): Promise<void> {
  // When the digests are made, all deals are booked.
  const digest = (await digestsOf(day, [accountNumber])).get(accountNumber);
  const deals = (await dealsOf(accountNumber)).filter(({ executedAt }) => executedAt.startsWith(day));
  if (deals.length === 0) {
    expect(digest).toBeUndefined();
    return;
  }
  expect(digest).toMatchObject({
    count: deals.length,
    commission: total(deals.map(({ commission }) => commission)),
    realizedPnl: total(deals.map(({ realizedPnl }) => realizedPnl)),
    swap: total(deals.map(({ swap }) => swap)),
    hash: recordsHash("deals", deals),
  });
}

/** A deal of a history. */
interface Step {
  readonly daysAgo: number;
  /** The time of the day, as a trading server writes it. */
  readonly time: string;
  readonly volume: number;
  readonly price: number;
  /** Realized profit, commission and swap, in minor units. */
  readonly amounts: readonly [number, number, number];
}

function eventsOf(accountNumber: string, steps: readonly Step[], from = 1): TradingEvent[] {
  return steps.map(({ daysAgo, time, volume, price, amounts }, index) => {
    const sequence = from + index;
    const executedAt = `${addDays(today, -daysAgo)}T${time}Z`;
    const [realizedPnlMinor, commissionMinor, swapMinor] = amounts;
    const deal = {
      id: `D-${sequence}`,
      orderId: `O-${sequence}`,
      positionId: `P-${sequence}`,
      symbol: "Gold/€ 🥇",
      side: "buy" as const,
      kind: "exit" as const,
      volume,
      price,
      realizedPnlMinor,
      commissionMinor,
      swapMinor,
      executedAt,
    };
    return {
      ...eventEnvelope({ serverId, accountNumber, sequence, occurredAt: executedAt }),
      type: "deal.executed",
      deal,
    };
  });
}

const aDeal = (daysAgo: number, time = "12:00:00.000"): Step => ({
  daysAgo,
  time,
  volume: 0.1,
  price: 1.08451,
  amounts: [1_250, -70, 0],
});
const amount = fc.integer({ min: -50_000, max: 50_000 });
const step: fc.Arbitrary<Step> = fc.record({
  daysAgo: fc.integer({ min: 0, max: 4 }),
  time: fc.constantFrom("00:00:00", "00:00:00.000001", "12:00:00.5", "12:00:00.500", "23:59:59.999", "23:59:59.999999"),
  volume: fc.integer({ min: 1, max: 10_000 }).map((hundredths) => hundredths / 100),
  price: fc.constantFrom(1.08451, 2410.35, 0.0000001, 150),
  amounts: fc.tuple(amount, amount, amount),
});

describe("the digests of deals", () => {
  it("of random histories equal, for each day, digests computed from the lists of deals", async () => {
    const accounts = fc
      .sample(fc.array(step, { minLength: 1, maxLength: 20 }), 10)
      .map((steps) => ({ accountNumber: anyAccountNumber(), steps }));
    await published(
      accounts.flatMap(({ accountNumber, steps }) => eventsOf(accountNumber, steps)),
      addDays(today, -4),
    );
    await digestsOf(yesterday(), []);
    for (const day of daysBetween(addDays(today, -4), yesterday())) {
      for (const { accountNumber } of accounts) {
        await expectNaive(day, accountNumber);
        const digest = (await digestsOf(day, [accountNumber])).get(accountNumber);
        expect(digest?.revision ?? 1).toBe(1);
      }
    }
  });

  it("of an account are complete, even if one read does not return all its deals", async () => {
    const accountNumber = anyAccountNumber();
    // Many deals have the same time.
    const steps = Array.from({ length: MANY_DEALS }, (_, index) => aDeal(1, `12:00:0${index % 3}.000`));
    await published(eventsOf(accountNumber, steps));
    await expectNaive(yesterday(), accountNumber);
  });

  it("get a new revision from a late deal of their account and day, also on a day without deals", async () => {
    const [late, other] = [anyAccountNumber(), anyAccountNumber()];
    const first = eventsOf(late, [aDeal(1)]);
    await published([...first, ...eventsOf(other, [aDeal(1)])], addDays(today, -2));
    const before = await digestsOf(yesterday(), [late, other]);
    expect(await digestsOf(addDays(today, -2), [late])).toEqual(new Map());

    await env.publish(...eventsOf(late, [aDeal(2), aDeal(1, "13:00:00.000")], 2));
    for (const day of [addDays(today, -2), yesterday()]) {
      await eventually(async () => expect((await digestsOf(day, [late])).get(late)).toMatchObject({ revision: 2 }), {
        timeoutMs: MAKING_TIMEOUT_MS,
      });
      expect((await digestsOf(day, [late])).get(late)?.revisedAt).not.toBeNull();
      await expectNaive(day, late);
    }
    expect((await digestsOf(yesterday(), [other])).get(other)).toEqual(before.get(other));
    const [left] = await env.database.query(LATE_RECORDS, [serverId]);
    expect(left).toEqual({ count: 0 });
  });

  it("get a new revision when a rebuild changes the deals", async () => {
    const accountNumber = anyAccountNumber();
    const events = eventsOf(accountNumber, [aDeal(1), aDeal(1), aDeal(1)]);
    await env.stopConsumer();
    await env.makeKnown(accountNumber, serverId);
    await env.database.query(BEGIN_WITH, [serverId, yesterday()]);
    await env.publish(...events);
    await env.startConsumer();
    const name = { serverId, accountNumber };
    await eventually(async () => (await env.history.reader.bookedSequence(name)) === events.length);
    await env.database.query(LOSE_LAST_DEAL, [serverId, accountNumber]);
    makers = [env.startDigests(serverId)];
    expect((await digestsOf(yesterday(), [accountNumber])).get(accountNumber)).toMatchObject({ count: 2, revision: 1 });

    const staged = createStagedHistory(env.database);
    await staged.stage(name, events);
    expect(await staged.replace(name, [], null)).toMatchObject({ kind: "replaced", different: 1 });
    await eventually(
      async () =>
        expect((await digestsOf(yesterday(), [accountNumber])).get(accountNumber)).toMatchObject({
          count: 3,
          revision: 2,
        }),
      { timeoutMs: MAKING_TIMEOUT_MS },
    );
    await expectNaive(yesterday(), accountNumber);
  });

  it("get a new revision only if they are already made, also on a day whose digests are only partly made", async () => {
    const [first, second] = [anyAccountNumber(), anyAccountNumber()].toSorted();
    if (first === undefined || second === undefined) throw new Error("two accounts are needed");
    const table = createDigestTable(env.database, systemClock);
    await published([...eventsOf(first, [aDeal(1), aDeal(1)]), ...eventsOf(second, [aDeal(1), aDeal(1)])]);
    await digestsOf(yesterday(), [first, second]);
    await stopMakers();
    for (const accountNumber of [first, second]) {
      await env.database.query(LOSE_LAST_DEAL, [serverId, accountNumber]);
    }
    // By this progress, yesterday's digest of `first` is made, but not that of `second`. So only
    // the digest of `first` is revised.
    const dayBefore = addDays(today, -2);
    const progress = { serverId, firstDay: dayBefore, madeThrough: dayBefore, afterAccount: first };
    await env.database.transaction(async (tx) => {
      for (const accountNumber of [first, second]) await table.revise(tx, progress, accountNumber, dayBefore);
    });
    const digests = await digestsOf(yesterday(), [first, second]);
    expect([digests.get(first)?.count, digests.get(second)?.count]).toEqual([1, 2]);
  });

  it("of a deleted account stay, and include the day of its deletion", async () => {
    const accountNumber = anyAccountNumber();
    const name = { serverId, accountNumber };
    const events = eventsOf(accountNumber, [aDeal(1), aDeal(0, "00:00:00.000")]);
    await published(events);
    const before = await digestsOf(yesterday(), [accountNumber]);
    await eventually(async () => (await env.history.reader.bookedSequence(name)) === events.length);
    const deals = await dealsOf(accountNumber);
    const table = createDigestTable(env.database, systemClock);
    await table.makeLast(name);
    await deleteHistory(env.database, serverId, accountNumber);
    // A retry of the deletion changes nothing.
    await table.makeLast(name);
    expect(await digestsOf(yesterday(), [accountNumber])).toEqual(before);

    // As after the end of today: the digests of today count as made.
    await stopMakers();
    await env.database.query(BEGIN_WITH, [serverId, addDays(today, 1)]);
    await env.database.query(SET_FIRST_DAY, [serverId, yesterday()]);
    const ofToday = deals.filter(({ executedAt }) => executedAt.startsWith(today));
    expect((await digestsOf(today, [accountNumber])).get(accountNumber)).toMatchObject({
      count: 1,
      revision: 1,
      hash: recordsHash("deals", ofToday),
    });
  });

  it("are made once by two processes at the same time", async () => {
    const numbers = Array.from({ length: 40 }, () => anyAccountNumber());
    const events = numbers.flatMap((number) => eventsOf(number, [aDeal(2), aDeal(1)]));
    await published(events, addDays(today, -2), 2);
    for (const day of [addDays(today, -2), yesterday()]) {
      const made = await digestsOf(day, numbers);
      expect([...made.values()].map(({ count, revision }) => [count, revision])).toEqual(numbers.map(() => [1, 1]));
    }
  });
});
