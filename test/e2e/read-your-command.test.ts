/**
 * Reads through any gateway return a command immediately after its 202, and the effect of a command
 * as soon as it is `succeeded` (decisions, 3.7). Mutations go through the first gateway, and reads
 * through the second. The last tests check that load of another organization on the first gateway
 * does not prevent reads through the first gateway.
 */
import { randomUUID } from "node:crypto";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { connectToAccounts, fillAccounts } from "../load/history-fill.ts";
import { crowd, print, seenBy } from "./attacks.ts";
import { inFlight } from "./in-flight.ts";
import { type AccountView, type EnvelopeView, type OutsideClient, pause, repeated } from "./outside-client.ts";
import { startTwoGateways, type TwoGateways } from "./system.ts";
import { TradingControl } from "./trading-control.ts";

/** READ_COMMANDS must be a multiple of ACCOUNTS: every account then has equally many commands. */
const COMMANDS = Number(process.env["READ_COMMANDS"] ?? 2_000);
const IN_FLIGHT = 64;
const ACCOUNTS = 40;
const INITIAL_BALANCE = 1_000;
const DEPOSIT = 0.01;
const RETRY_INTERVAL_MS = 100;
/** A list of this many accounts is larger than the buffers of a connection. */
const MANY_ACCOUNTS = Number(process.env["MANY_ACCOUNTS"] ?? 24_000);
const SLOW_READERS = 30;
const SEARCHERS = 24;
const WAITING_REQUESTS = 1_100;
/**
 * Number of lists of all accounts (STREAMS) and of waiting requests (WAITS) that a gateway serves
 * at once for one organization (docs/operate.md).
 */
const STREAMS = 8;
const WAITS = 100;
/** Duration of each measurement of the attacked organization, before and during the attack. */
const WORK_MS = 4_000;
/** Delay that other programs of the machine may add to the slowest requests. */
const NOISE_MS = 1_000;
/**
 * Number of checks of each effect, each on another account. The effect of a deletion is checked on
 * a quarter of that number.
 */
const ROUNDS = ACCOUNTS;
/**
 * Here a round is ACCOUNTS successive commands, one for each account. Up to IN_FLIGHT commands are
 * in flight and may be accepted in any order. Unless one request is much slower than the others,
 * the last accepted command of each account is in one of the last LAST_ROUNDS rounds.
 */
const LAST_ROUNDS = Math.ceil(IN_FLIGHT / ACCOUNTS) + 1;
/** 10,000 commands take a minute on an idle machine. */
const COMMANDS_TIMEOUT_MS = 300_000;

interface Page {
  readonly pagination: { readonly total: number };
}

let system: TwoGateways;
let first: OutsideClient;
let second: OutsideClient;
let accounts: readonly string[];

beforeAll(async () => {
  system = await startTwoGateways();
  [first, second] = await system.newOrganization();
  accounts = await inFlight(ACCOUNTS, ACCOUNTS, () => first.openAccount(INITIAL_BALANCE));
});

afterAll(async () => {
  await system.stop();
});

async function accepted(method: string, path: string, body: object): Promise<EnvelopeView> {
  const answer = await first.queue(method, path, { requestId: randomUUID(), ...body });
  if (answer.status > 202) throw new Error(`${path} answered ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Queues a mutation and waits until the second gateway shows it `succeeded`. */
async function done(method: string, path: string, body: object = {}): Promise<Readonly<Record<string, unknown>>> {
  const { command } = await accepted(method, path, body);
  return (await second.succeeded(command.id)).result ?? {};
}

/** Reads through the second gateway. Retries while too many lists or searches are in flight. */
async function read<T>(path: string): Promise<T> {
  for (;;) {
    const { status, body } = await repeated(() => second.call<T>("GET", second.server(path)));
    if (status === 200) return body;
    if (status !== 429) throw new Error(`${path} answered ${status} ${JSON.stringify(body)}`);
    await pause(RETRY_INTERVAL_MS);
  }
}

/** Runs `look` for all accounts concurrently. */
async function onEachAccount(look: (account: string, round: number) => Promise<void>): Promise<void> {
  await inFlight(ROUNDS, ROUNDS, (round) => look(accounts[round % ACCOUNTS] ?? "", round));
}

describe("a command", () => {
  it(
    `is found by a GET through another gateway immediately after its 202, ${COMMANDS} times of ${COMMANDS}`,
    { timeout: COMMANDS_TIMEOUT_MS },
    async () => {
      const wrong: string[] = [];
      const ids = await inFlight(COMMANDS, IN_FLIGHT, async (index) => {
        const account = `/accounts/${accounts[index % ACCOUNTS]}`;
        const { command } =
          index % 2 === 0
            ? await accepted("POST", `${account}/finance/deposits`, { amount: DEPOSIT })
            : await accepted("PATCH", account, { accountName: `Name ${index}` });
        const read = `/commands/${command.id}`;
        const found = await repeated(() => second.call<{ command?: { id: string } }>("GET", read));
        if (found.status !== 200 || found.body.command?.id !== command.id) wrong.push(`${index}: ${found.status}`);
        return command.id;
      });
      expect(wrong).toEqual([]);
      expect(new Set(ids).size).toBe(COMMANDS);
      // An account's commands of one kind are executed in order, so the last ones are final last.
      // The balances show that each deposit was executed once.
      await Promise.all(ids.slice(-ACCOUNTS * LAST_ROUNDS).map((id) => second.succeeded(id)));
      const balance = INITIAL_BALANCE + (COMMANDS / 2 / (ACCOUNTS / 2)) * DEPOSIT;
      const balances = await Promise.all(accounts.map(async (account) => (await second.account(account)).balance));
      expect(balances).toEqual(accounts.map((_, index) => (index % 2 === 0 ? balance : INITIAL_BALANCE)));
    },
  );
});

describe("as soon as a command has succeeded", () => {
  it("its deposit is the first row of the transactions, and in the balance of the details", async () => {
    await onEachAccount(async (account, round) => {
      const amount = (100 + round) / 100;
      const result = await done("POST", `/accounts/${account}/finance/deposits`, { amount });
      const [{ transactions }, details] = await Promise.all([
        read<{ transactions: readonly object[] }>(`/accounts/${account}/transactions?limit=1`),
        second.account(account),
      ]);
      const { transactionId, balanceAfter } = result;
      expect(transactions).toMatchObject([{ id: transactionId, type: "deposit", amount, balanceAfter }]);
      expect(details.balance).toBe(balanceAfter);
    });
  });

  it("its new name is in the details, in the list and in the search", async () => {
    await onEachAccount(async (account, round) => {
      const accountName = `Renamed ${round} ${randomUUID()}`;
      await done("PATCH", `/accounts/${account}`, { accountName });
      const [details, { accounts: list }, { accounts: found }] = await Promise.all([
        second.account(account),
        read<{ accounts: readonly AccountView[] }>("/accounts"),
        read<{ accounts: readonly AccountView[] }>(`/accounts?search=${encodeURIComponent(accountName)}`),
      ]);
      expect(details.accountName).toBe(accountName);
      expect(list.find((listed) => listed.accountNumber === account)?.accountName).toBe(accountName);
      expect(found.map((listed) => listed.accountNumber)).toEqual([account]);
    });
  });

  it.each([
    ["password-reset", "tradingPasswordChangedAt"],
    ["investor-password-reset", "investorPasswordChangedAt"],
  ])("the time of its %s is in the credentials", async (operation, field) => {
    await onEachAccount(async (account) => {
      const { changedAt } = await done("POST", `/accounts/${account}/${operation}`);
      const { credentials } = await read<{ credentials: Record<string, unknown> }>(`/accounts/${account}`);
      expect(credentials[field]).toBe(changedAt);
    });
  });

  it("its new account is once in the list, and the initial balance is a transaction", async () => {
    await inFlight(ROUNDS, ROUNDS, async () => {
      const accountName = `New ${randomUUID()}`;
      const body = { accountName, initialBalance: 12.5, leverage: 100 };
      const account = String((await done("POST", "/accounts", body))["accountNumber"]);
      const [{ accounts: found }, { transactions }] = await Promise.all([
        read<{ accounts: readonly AccountView[] }>(`/accounts?search=${encodeURIComponent(accountName)}`),
        read<{ transactions: readonly object[] }>(`/accounts/${account}/transactions`),
      ]);
      expect(found).toMatchObject([{ accountNumber: account, status: "active" }]);
      expect(transactions).toMatchObject([{ type: "initial_balance", amount: 12.5, sequence: 1 }]);
    });
  });

  it("its new status is in the details, and the account is in the list of that status: disabled, active, archived", async () => {
    const path = ["disable", "enable", "archive"] as const;
    const states = { disable: "disabled", enable: "active", archive: "archived" } as const;
    await onEachAccount(async (account) => {
      for (const operation of path) {
        await done("POST", `/accounts/${account}/${operation}`);
        const status = states[operation];
        const [details, { accounts: list }] = await Promise.all([
          second.account(account),
          read<{ accounts: readonly AccountView[] }>(`/accounts?status=${status}`),
        ]);
        expect(details.status).toBe(status);
        expect(list.map((listed) => listed.accountNumber)).toContain(account);
      }
      await done("POST", `/accounts/${account}/enable`);
    });
  });

  it("no read returns the account that the command deleted", async () => {
    const doomed = await inFlight(ROUNDS / 4, ROUNDS, () => first.openAccount());
    await inFlight(doomed.length, ROUNDS, async (index) => {
      const account = doomed[index] ?? "";
      await done("POST", `/accounts/${account}/delete`);
      const lists = ["", "/orders", "/positions", "/deals", "/transactions"];
      const answers = lists.map((list) => second.call("GET", second.server(`/accounts/${account}${list}`)));
      expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(lists.map(() => 404));
      const { accounts: left } = await read<{ accounts: readonly AccountView[] }>("/accounts");
      expect(left.map(({ accountNumber }) => accountNumber)).not.toContain(account);
    });
  });
});

describe("as soon as the trading server has closed a position", () => {
  it("reads return only the remaining open positions of the account", async () => {
    const control = new TradingControl(second.demo);
    const open = async (account: string): Promise<number> =>
      (await read<Page>(`/accounts/${account}/positions?status=open&limit=1`)).pagination.total;
    await onEachAccount(async (account) => {
      const positions = [await control.buy(account, "EURUSD", 0.01), await control.buy(account, "EURUSD", 0.02)];
      for (const [index, position] of positions.entries()) {
        expect(await open(account)).toBe(positions.length - index);
        await control.close(account, position);
      }
      expect(await open(account)).toBe(0);
    });
  });
});

describe("while another organization", () => {
  let attacker: OutsideClient;

  beforeAll(async () => {
    [attacker] = await system.newOrganization();
    const database = await connectToAccounts(system.stack.environment.postgresUrl);
    await fillAccounts(database, attacker.demo, MANY_ACCOUNTS);
    await database.end();
  });

  const work = async (): Promise<number> => (await first.call("GET", first.server("/accounts?limit=20"))).status;
  const consumed = async (): Promise<number> =>
    (await attacker.call<{ wallet: { lifetimeConsumed: number } }>("GET", "/credits/balance")).body.wallet
      .lifetimeConsumed;

  it("has 30 slow readers of the list of all its accounts, this organization's pages are served; each started list is charged", async () => {
    const before = await consumed();
    const undisturbed = await seenBy(WORK_MS, work);
    const readers = await crowd(attacker, attacker.server("/accounts"), SLOW_READERS);
    const attacked = await seenBy(WORK_MS, work);
    const answered = Object.fromEntries(readers.statuses);
    await readers.leave();
    print("slow readers of another organization", { undisturbed, attacked });
    expect(attacked.errors).toEqual([]);
    expect(attacked.p99Ms).toBeLessThan(2 * undisturbed.p99Ms + NOISE_MS);
    expect(answered).toEqual({ 200: STREAMS, 429: SLOW_READERS - STREAMS });
    // The second read of the wallet is charged too.
    expect((await consumed()) - before).toBe(STREAMS + 1);
  });

  it("runs 24 concurrent searches without results over all its accounts, this organization's pages are served", async () => {
    const undisturbed = await seenBy(WORK_MS, work);
    const path = attacker.server("/accounts?search=nobody%20has%20this&limit=20");
    const search = async (): Promise<number> => {
      const { status } = await attacker.call("GET", path);
      if (status !== 200) await pause(RETRY_INTERVAL_MS);
      return status;
    };
    const searches = seenBy(WORK_MS, search, SEARCHERS);
    const attacked = await seenBy(WORK_MS, work);
    const { errors, ...searched } = await searches;
    print("searches of another organization", { undisturbed, attacked, searched, refused: errors.length });
    expect(attacked.errors).toEqual([]);
    expect(attacked.p99Ms).toBeLessThan(2 * undisturbed.p99Ms + NOISE_MS);
    expect(new Set(errors)).toEqual(new Set(["429"]));
  });

  it("sends 1,100 waiting requests, this organization's waits are served; the waiting requests end when their callers disconnect", async () => {
    const account = await attacker.openAccount();
    await new TradingControl(attacker.demo).inject({ kind: "unreachable", count: null });
    const { command } = (await attacker.deposit(account, { amount: DEPOSIT, requestId: randomUUID() })).body;
    const path = `/commands/${command.id}?wait=30`;
    const own = accounts[0] ?? "";
    const deposits = async (): Promise<number> => {
      const { command: mine } = (await first.deposit(own, { amount: DEPOSIT, requestId: randomUUID() })).body;
      return (await first.call("GET", `/commands/${mine.id}?wait=20`)).status;
    };
    const undisturbed = await seenBy(WORK_MS, deposits);
    const waiting = await crowd(attacker, path, WAITING_REQUESTS);
    const attacked = await seenBy(WORK_MS, deposits);
    const answered = { 200: WAITING_REQUESTS - WAITS };
    await eventually(() => expect(Object.fromEntries(waiting.statuses)).toEqual(answered));
    await waiting.leave();
    print("waits of another organization", { undisturbed, attacked });
    expect(attacked.errors).toEqual([]);
    expect(attacked.p99Ms).toBeLessThan(2 * undisturbed.p99Ms + NOISE_MS);

    const startedMs = performance.now();
    const again = await attacker.call<EnvelopeView>("GET", `/commands/${command.id}?wait=2`);
    expect(again.status).toBe(200);
    expect(performance.now() - startedMs).toBeGreaterThan(1_900);
    await new TradingControl(attacker.demo).clearFaults();
  });
});
