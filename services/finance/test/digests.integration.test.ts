/** Daily digests of transactions, compared with what the list of transactions shows. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";

import { FINANCE_ROUTES, type Transaction, TransactionsAnswer, type TradingEvent } from "@kapi/contracts";
import { addDays, daysBetween, utcDay } from "@kapi/digests";
import { statement } from "@kapi/postgres";
import { accountCreated, anyAccountNumber, balanceChanged, eventEnvelope, eventually } from "@kapi/testkit";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { naiveDigest, parseDigests } from "./naive-digests.ts";
import { Harness } from "./harness.ts";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));
/** More accounts than two batches have. */
const MANY_ACCOUNTS = 1_150;
const MAKING_TIMEOUT_MS = 30_000;

/** $1 server, $2 first day: the server's first digests are of this day, and are made next. */
const BEGIN_WITH = statement<never>(
  "test_begin_with",
  `insert into digest_servers (server_id, first_day, made_through) values ($1, $2::date, $2::date - 1)
   on conflict (server_id) do update set first_day = excluded.first_day, made_through = excluded.made_through`,
);
const MADE_THROUGH = statement<{ made_through: string; after_account: string }>(
  "test_made_through",
  "select made_through::text, after_account from digest_servers where server_id = $1",
);
/** $1 server, $2 day: as if the digests of the day had never been made. */
const FORGET_DAY = statement<never>(
  "test_forget_day",
  `with counts as (delete from transaction_digest_counts where server_id = $1 and day = $2::date)
   delete from transaction_digests where server_id = $1 and day = $2::date`,
);
/** $1 server, $2 first day. The days that are already made still count as made. */
const BEGAN_ON = statement<never>(
  "test_began_on",
  "update digest_servers set first_day = $2::date where server_id = $1",
);
/** $1 server, $2 day, $3 new day: changes the day of the server's digests from $2 to $3. */
const MOVE_DIGESTS = statement<never>(
  "test_move_digests",
  "update transaction_digests set day = $3::date where server_id = $1 and day = $2::date",
);

/** $1 server, $2 day. */
const COUNT_DIGESTS = statement<{ readonly count: number }>(
  "test_count_digests",
  "select count(*)::integer as count from transaction_digests where server_id = $1 and day = $2::date",
);

let harness: Harness;
let serverId: string;
let today: string;
const yesterday = (): string => addDays(today, -1);

beforeAll(async () => {
  harness = await Harness.create();
});
afterAll(() => harness.stop());
beforeEach(() => {
  serverId = randomUUID();
  today = utcDay(Date.now());
});

/**
 * Publishes events while the service is stopped, then starts the service. So all of these events
 * are booked before the first digests are made.
 */
async function published(events: readonly TradingEvent[], firstDay = yesterday()): Promise<void> {
  await harness.stopService();
  await harness.database.query(BEGIN_WITH, [serverId, firstDay]);
  await harness.publishServer({ ...harness.server, serverId });
  for (const event of events) await harness.publishEvent(event);
  await harness.startService();
}

/** The digests of a day, once they are made. */
function digestsOf(day: string, query = "&limit=100") {
  return eventually(
    async () => {
      const { status, body } = await harness.call("GET", `${serverId}/digests?date=${day}${query}`);
      expect(status).toBe(200);
      return parseDigests(body);
    },
    { timeoutMs: MAKING_TIMEOUT_MS },
  );
}

async function transactionsOf(accountNumber: string): Promise<Transaction[]> {
  const all: Transaction[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const query: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const path = `${serverId}/accounts/${accountNumber}/transactions?limit=100${query}`;
    const page = TransactionsAnswer.parse((await harness.call("GET", path)).body);
    all.push(...page.transactions);
    cursor = page.pagination.nextCursor;
  }
  return all;
}

/** Expects the digests of a day to be those computed from the lists of transactions. */
async function expectNaive(day: string, accountNumbers: readonly string[]): Promise<void> {
  // When the digests are made, all events are booked. So the lists are read after the digests.
  const { contents } = await digestsOf(day);
  const expected = await Promise.all(
    accountNumbers.map(async (number) => naiveDigest(number, "USD", day, await transactionsOf(number))),
  );
  const sorted = expected.toSorted((one, other) => (one.accountNumber < other.accountNumber ? -1 : 1));
  expect(contents).toEqual(sorted);
}

/** What happens to an account: a deposit, a withdrawal, or a closing deal with its costs. */
interface Step {
  /** Days before today. */
  readonly daysAgo: number;
  /** Seconds from the start of that day. */
  readonly second: number;
  /** Minor units. One amount: a deposit or withdrawal. Three: profit, commission, swap. */
  readonly amounts: readonly number[];
}

function eventsOf(accountNumber: string, openedDaysAgo: number, initialBalanceMinor: number, steps: readonly Step[]) {
  const at = (daysAgo: number, second: number): string =>
    new Date(Date.parse(`${addDays(today, -daysAgo)}T00:00:00Z`) + second * 1_000 + 7).toISOString();
  const name = { serverId, accountNumber };
  let balanceMinor = initialBalanceMinor;
  const events: TradingEvent[] = [
    accountCreated({ ...name, initialBalanceMinor, balanceMinor, occurredAt: at(openedDaysAgo, 0) }),
  ];
  for (const { daysAgo, second, amounts } of steps) {
    const sequence = events.length + 1;
    const occurredAt = at(daysAgo, second);
    const [first = 0, commissionMinor = 0, swapMinor = 0] = amounts;
    balanceMinor += first + commissionMinor + swapMinor;
    const common = { ...name, sequence, occurredAt, balanceMinor };
    if (amounts.length === 1) {
      const kind = first > 0 ? "deposit" : "withdrawal";
      events.push(balanceChanged({ ...common, kind, amountMinor: first, description: `Gold/€ 🥇 "${sequence}"\t` }));
      continue;
    }
    const deal = {
      id: `D-${sequence}`,
      orderId: `O-${sequence}`,
      positionId: `P-${sequence}`,
      symbol: "EURUSD",
      side: "sell" as const,
      kind: "exit" as const,
      volume: 0.1,
      price: 1.08451,
      realizedPnlMinor: first,
      commissionMinor,
      swapMinor,
      executedAt: occurredAt,
    };
    events.push({ ...eventEnvelope(common), type: "deal.executed", deal });
  }
  return events;
}

const amount = fc.integer({ min: -50_000, max: 50_000 }).filter((value) => value !== 0);
const step: fc.Arbitrary<Step> = fc.record({
  daysAgo: fc.integer({ min: 0, max: 4 }),
  second: fc.constantFrom(0, 1, 43_200, 86_399),
  amounts: fc.oneof(fc.tuple(amount), fc.tuple(amount, amount, amount)),
});

describe("the digests of transactions", () => {
  it("of random histories are what the lists of transactions give, day by day", async () => {
    const histories = fc.sample(
      fc.record({
        openedDaysAgo: fc.integer({ min: 0, max: 5 }),
        initialBalanceMinor: fc.constantFrom(0, 100_000),
        // The times of an account do not follow its sequence, as after its server's clock was set
        // back.
        steps: fc.array(step, { maxLength: 25 }),
      }),
      12,
    );
    const accounts = histories.map(({ openedDaysAgo, initialBalanceMinor, steps }) => {
      const accountNumber = anyAccountNumber();
      const after = steps.map((one) => ({ ...one, daysAgo: Math.min(one.daysAgo, openedDaysAgo) }));
      return {
        accountNumber,
        openedDaysAgo,
        events: eventsOf(accountNumber, openedDaysAgo, initialBalanceMinor, after),
      };
    });
    await published(
      accounts.flatMap(({ events }) => events),
      addDays(today, -4),
    );
    for (const day of daysBetween(addDays(today, -4), yesterday())) {
      const existing = accounts.filter(({ openedDaysAgo }) => addDays(today, -openedDaysAgo) <= day);
      await expectNaive(
        day,
        existing.map(({ accountNumber }) => accountNumber),
      );
      for (const { revision, revisedAt } of (await digestsOf(day)).digests) {
        // All events were booked today. No digest existed then, so none was revised.
        expect([revision, revisedAt]).toEqual([1, null]);
      }
    }
  });

  it("include accounts without a transaction on the day, with their closing balance", async () => {
    const [empty, idle] = [anyAccountNumber(), anyAccountNumber()];
    const deposit = { daysAgo: 3, second: 5, amounts: [12_345] };
    await published([...eventsOf(empty, 2, 0, []), ...eventsOf(idle, 4, 100_000, [deposit])]);
    await expectNaive(yesterday(), [empty, idle]);
    const { digests } = await digestsOf(yesterday());
    expect(digests.find(({ accountNumber }) => accountNumber === idle)).toMatchObject({
      closingBalance: 1_123.45,
      transactions: { count: 0, amount: 0 },
    });
  });

  it("get a new revision for the day of a late record, and for every later day", async () => {
    const [late, other] = [anyAccountNumber(), anyAccountNumber()];
    const events = eventsOf(late, 5, 100_000, [
      { daysAgo: 3, second: 1, amounts: [5_000] },
      { daysAgo: 2, second: 9, amounts: [7_000, -300, -20] },
    ]);
    await published([...events.slice(0, 2), ...eventsOf(other, 5, 50_000, [])], addDays(today, -4));
    const before = await digestsOf(addDays(today, -4));
    expect((await digestsOf(yesterday())).digests.map(({ revision }) => revision)).toEqual([1, 1]);

    await harness.publishEvent(events[2]);
    for (const day of [addDays(today, -2), yesterday()]) {
      const revised = await eventually(
        async () => {
          const { digests } = await digestsOf(day);
          const found = digests.find(({ accountNumber }) => accountNumber === late);
          expect(found?.revision).toBe(2);
          return digests;
        },
        { timeoutMs: MAKING_TIMEOUT_MS },
      );
      expect(revised.find(({ accountNumber }) => accountNumber === late)?.revisedAt).not.toBeNull();
      expect(revised.find(({ accountNumber }) => accountNumber === other)).toMatchObject({ revision: 1 });
      await expectNaive(day, [late, other]);
    }
    expect(await digestsOf(addDays(today, -4))).toEqual(before);
    expect((await digestsOf(addDays(today, -3))).digests.map(({ revision }) => revision)).toEqual([1, 1]);
  });

  it("are `pending` before the day is complete, and `none` for a day before the first digests", async () => {
    const state = async (day: string): Promise<string> =>
      FINANCE_ROUTES.listTransactionDigests.answer.parse(
        (await harness.call("GET", `${serverId}/digests?date=${day}`)).body,
      ).state;
    expect(await state(yesterday())).toBe("pending");
    await published(eventsOf(anyAccountNumber(), 1, 100, []));
    await digestsOf(yesterday());
    expect(await state(today)).toBe("pending");
    expect(await state(addDays(today, -2))).toBe("none");
  });

  it("are paged by account number, with each account once", async () => {
    const numbers = Array.from({ length: 7 }, () => anyAccountNumber());
    await published(numbers.flatMap((number) => eventsOf(number, 1, 100, [])));
    const walked: string[] = [];
    for (let query: string | null = "&limit=3"; query !== null;) {
      const page = await digestsOf(yesterday(), query);
      expect(page.pagination.total).toBe(numbers.length);
      walked.push(...page.digests.map(({ accountNumber }) => accountNumber));
      const { nextCursor } = page.pagination;
      query = nextCursor === null ? null : `&limit=3&cursor=${nextCursor}`;
    }
    expect(walked).toEqual(numbers.toSorted());
    const second = await digestsOf(yesterday(), "&limit=3&page=2");
    expect(second.digests.map(({ accountNumber }) => accountNumber)).toEqual(numbers.toSorted().slice(3, 6));
  });

  it("of a deleted account stay, also if the digests of a day before the deletion are made again", async () => {
    const accountNumber = anyAccountNumber();
    const deposit = { daysAgo: 1, second: 5, amounts: [2_000] };
    await published(eventsOf(accountNumber, 2, 100, [deposit]));
    const before = await digestsOf(yesterday());
    await harness.call("DELETE", `${serverId}/accounts/${accountNumber}`);
    expect(await digestsOf(yesterday())).toEqual(before);
    // The digests of yesterday are made again, also for this account: it was deleted only today.
    await harness.database.query(FORGET_DAY, [serverId, yesterday()]);
    await harness.database.query(BEGIN_WITH, [serverId, yesterday()]);
    expect((await digestsOf(yesterday())).contents).toEqual(before.contents);
  });

  it("are made once for each account, even if the process is killed while it makes the digests of a day", async () => {
    const numbers = Array.from({ length: MANY_ACCOUNTS }, (_, index) => String(20_000_000 + index));
    await harness.stopService();
    await harness.database.query(BEGIN_WITH, [serverId, yesterday()]);
    await harness.publishServer({ ...harness.server, serverId });
    const events = numbers.flatMap((number) => eventsOf(number, 1, 100, []));
    await Promise.all(events.map((event) => harness.publishEvent(event)));
    await killedAt("finance.digests-in-transaction", 1);
    const [progress] = await harness.database.query(MADE_THROUGH, [serverId]);
    // The first batch is committed, the second one is not.
    expect(progress).toEqual({ made_through: addDays(yesterday(), -1), after_account: numbers[499] });
    await harness.startService();
    const { pagination } = await digestsOf(yesterday(), "&limit=1");
    expect(pagination.total).toBe(MANY_ACCOUNTS);
    const last = await digestsOf(yesterday(), "&limit=50&page=23");
    expect(last.digests.map(({ accountNumber }) => accountNumber)).toEqual(numbers.slice(-50));
    expect(last.digests.every(({ revision }) => revision === 1)).toBe(true);
  });

  it("are no longer shown after 400 days, and are deleted", async () => {
    const accountNumber = anyAccountNumber();
    await published(eventsOf(accountNumber, 1, 100, []));
    await digestsOf(yesterday());
    await harness.stopService();
    const old = addDays(today, -402);
    // Only the first day changes: the days up to yesterday still count as made.
    await harness.database.query(BEGAN_ON, [serverId, old]);
    await harness.database.query(MOVE_DIGESTS, [serverId, yesterday(), old]);
    const stored = async () => (await harness.database.query(COUNT_DIGESTS, [serverId, old]))[0]?.count;
    expect(await stored()).toBe(1);
    await harness.startService();
    await eventually(async () => {
      const { body } = await harness.call("GET", `${serverId}/digests?date=${old}`);
      expect(body).toEqual({ state: "none" });
      expect(await stored()).toBe(0);
    });
  });
});

/**
 * Runs the service as a process. The process passes the fault point `passes` times, and kills
 * itself the next time that it reaches the fault point.
 */
async function killedAt(point: string, passes: number): Promise<void> {
  const env = { ...harness.environment.env, HTTP_PORT: "0", FAULT_POINT: point, FAULT_POINT_AFTER: String(passes) };
  const child = spawn(process.execPath, [MAIN], { env: { ...process.env, ...env }, stdio: "ignore" });
  const signal = await new Promise((resolve) => child.once("exit", (_code, by) => resolve(by)));
  expect(signal).toBe("SIGKILL");
}
