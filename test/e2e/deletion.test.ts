/**
 * Immediate and queued deletion of an account. After a deletion no read returns the account again,
 * even after late events and failures.
 */
import { randomUUID } from "node:crypto";

import { TOPICS } from "@kapi/contracts";
import { partitionOfKey } from "@kapi/kafka";
import { toIso } from "@kapi/kernel";
import { eventually, valuation } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { expectStory } from "./account-story.ts";
import { readTopic } from "./everything-stored.ts";
import { type AccountView, type Answer, type LiveClient, OutsideClient } from "./outside-client.ts";
import { publish } from "./publish.ts";
import { type RunningSystem, startSystem } from "./system.ts";
import { TradingControl } from "./trading-control.ts";

/** Number of partitions of the test topics. */
const PARTITIONS = 4;
const MINUTE_MS = 60_000;
/**
 * Time limit of answers while a dependency is unavailable: 5 s (decisions, 1.5), plus tolerance.
 * kapi may take up to 15 s for an immediate deletion, but the deletions here take less.
 */
const ERROR_DEADLINE_MS = 6_000;
/** Maximum time from the start of a service to its first response, on a busy machine. */
const START_TIMEOUT_MS = 30_000;
/** Time limit of a test that starts the account service once for each of {@link STEPS}. */
const ALL_STEPS_TIMEOUT_MS = 150_000;
/** Fault points at which the account service is killed, in the order of a deletion. */
const STEPS = ["marked", "settled", "trading-server", "booked", "history", "finance", "metrics", "finished"];
const UNAVAILABLE = { error: "Internal server error" };

interface Listed {
  readonly pagination: { readonly total: number };
}

let system: RunningSystem;
let client: OutsideClient;
let control: TradingControl;

beforeAll(async () => {
  system = await startSystem({}, { together: false });
  client = new OutsideClient(system.demo);
  control = new TradingControl(system.demo);
});

afterAll(async () => {
  await system.stop();
});

const pathOf = (account: string): string => client.server(`/accounts/${account}`);
const snapshotsOf = (account: string): Promise<Answer<{ snapshots: readonly unknown[] }>> =>
  client.call("GET", client.server(`/account-metrics?accountNumber=${account}`));
const deleteNow = (account: string): Promise<Answer<Record<string, unknown>>> => client.call("DELETE", pathOf(account));

const keyOf = (account: string): string => `${client.demo.serverId}/${account}`;

/** Opens an account with transactions, a closed and an open position, a sample and a snapshot. */
async function fullAccount(): Promise<{ account: string; positionId: string }> {
  const account = await client.openAccount(10_000);
  const deposit = await client.deposit(account, { amount: 12.5, requestId: "deposit" });
  await control.close(account, await control.buy(account, "EURUSD", 0.1));
  const positionId = await control.buy(account, "EURUSD", 0.2);
  await client.succeeded(deposit.body.command.id);
  // A valuation of the next minute makes metrics store the snapshot of the current minute.
  const { serverId } = client.demo;
  const later = valuation({ serverId, accountNumber: account, measuredAt: toIso(Date.now() + MINUTE_MS) });
  await publish(system.stack, [{ topic: "tradingValuations", key: keyOf(account), value: JSON.stringify(later) }]);
  await eventually(async () => {
    expect((await snapshotsOf(account)).body.snapshots.length).toBeGreaterThan(0);
    const booked = await totals(account);
    expect(booked).toMatchObject({ orders: 3, positions: 2, deals: 3 });
    // At least the initial balance, the deposit, and the commissions of three deals.
    expect(booked["transactions"]).toBeGreaterThanOrEqual(5);
  });
  return { account, positionId };
}

async function totals(account: string): Promise<Record<string, number>> {
  const lists = ["orders", "positions", "deals", "transactions"];
  const answers = lists.map((list) => client.call<Listed>("GET", `${pathOf(account)}/${list}`));
  return Object.fromEntries(
    (await Promise.all(answers)).map(({ body }, index) => [lists[index], body.pagination.total]),
  );
}

/** Subscribes a socket to the account, and waits for its first sample. */
async function watching(account: string): Promise<LiveClient> {
  const live = await client.live();
  await live.next();
  live.send({ type: "subscribe", serverId: client.demo.serverId, accountNumber: account });
  await live.samples(1);
  return live;
}

/** The socket gets the deletion notice, possibly after samples, and then no more samples. */
async function expectDeletionNotice(live: LiveClient, account: string): Promise<void> {
  let message = await live.next();
  while (message.type === "account.metrics") message = await live.next();
  expect(message).toEqual({ type: "account.deleted", serverId: client.demo.serverId, accountNumber: account });
  live.send("ping");
  expect(await live.nextText()).toBe("pong");
  live.close();
}

/** No read returns the account, and every command for it fails or is rejected with 404. */
async function expectGone(account: string): Promise<void> {
  const reads = ["", "/orders", "/positions", "/positions?status=open&limit=1", "/deals", "/transactions"];
  const answers = reads.map((read) => client.call("GET", pathOf(account) + read));
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(reads.map(() => 404));
  expect((await snapshotsOf(account)).body).toEqual({ snapshots: [] });
  for (const query of ["", `?search=${account}`, "?status=deleting"]) {
    const { body } = await client.call<{ accounts: AccountView[] }>("GET", client.server(`/accounts${query}`));
    expect(body.accounts.map(({ accountNumber }) => accountNumber)).not.toContain(account);
  }
  await expect(control.account(account)).rejects.toThrow("404");
  const deposit = await client.deposit(account, { amount: 1, requestId: "late" });
  const enabling = await client.send("POST", `/accounts/${account}/enable`, { requestId: "late" }, randomUUID());
  for (const { status, body } of [deposit, enabling]) {
    if (status === 404) continue;
    expect(status).toBe(202);
    expect(await client.finished(body.command.id)).toMatchObject({ status: "failed", errorCode: "ACCOUNT_NOT_FOUND" });
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/livez`)).ok;
  } catch {
    return false;
  }
}

/** Expects the 500 for an unavailable dependency, in time and free of charge. */
async function expectUnavailable<T>(ask: () => Promise<Answer<T>>): Promise<void> {
  const beganMs = Date.now();
  const { status, headers, body } = await ask();
  expect(Date.now() - beganMs).toBeLessThan(ERROR_DEADLINE_MS);
  expect({ status, body }).toMatchObject({ status: 500, body: UNAVAILABLE });
  expect(headers.get("x-error-code")).toBe("DEPENDENCY_UNAVAILABLE");
  expect(headers.get("retry-after")).toBe("1");
  expect(headers.get("x-credits-charged")).toBe("0");
}

describe("the immediate deletion", () => {
  it("hides the account from every read, publishes its events in order, and notifies subscribers", async () => {
    const { account } = await fullAccount();
    const live = await watching(account);
    expect(await deleteNow(account)).toMatchObject({ status: 200, body: { accountNumber: account, deleted: true } });
    await expectDeletionNotice(live, account);
    await expectGone(account);
    await eventually(() => expectStory(system.stack, client, account));
    expect(await deleteNow(account)).toMatchObject({ status: 200, body: { accountNumber: account, deleted: true } });
    const never = await deleteNow("99999999");
    expect([never.status, never.headers.get("x-error-code")]).toEqual([400, "ACCOUNT_NOT_FOUND"]);
  });

  it("stays complete after trading events and valuations are repeated, and the account number is not reused", async () => {
    const { account } = await fullAccount();
    await deleteNow(account);
    const key = keyOf(account);
    const late = [];
    for (const topic of ["tradingEvents", "tradingValuations"] as const) {
      const records = await readTopic(system.stack, TOPICS[topic]);
      const its = records.filter((record) => record.key === key);
      expect(its.length).toBeGreaterThan(3);
      late.push(...its.map(({ value }) => ({ topic, key, value: value.toString() })));
    }
    await publish(system.stack, late);
    // Later messages of another account, on the same partitions, show that the repeated messages
    // were read.
    const numbers = [account];
    do numbers.push(await client.openAccount(100));
    while (partitionOfKey(keyOf(String(numbers.at(-1))), PARTITIONS) !== partitionOfKey(key, PARTITIONS));
    const witness = String(numbers.at(-1));
    await control.close(witness, await control.buy(witness, "EURUSD", 0.01));
    await eventually(async () => {
      expect(await totals(witness)).toMatchObject({ orders: 2, positions: 1, deals: 2 });
    });
    (await watching(witness)).close();
    await expectGone(account);
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it(
    "returns 500 if the account service is killed at any step, and the retry completes the deletion",
    { timeout: ALL_STEPS_TIMEOUT_MS },
    async () => {
      const { account } = await fullAccount();
      const live = await watching(account);
      const service = system.stack.process("account");
      for (const step of STEPS) {
        await service.stop();
        // The service is ready only after the Kafka session of the killed process has timed out. A
        // deletion does not need a ready service, so the fault point kills the service earlier.
        const started = service.start({ FAULT_POINT: `account.deletion-${step}` }).catch(() => undefined);
        await eventually(() => answers(service.url), { timeoutMs: START_TIMEOUT_MS });
        await expectUnavailable(() => deleteNow(account));
        await started;
        expect((await service.ended()).signal).toBe("SIGKILL");
      }
      await service.restart();
      expect(await deleteNow(account)).toMatchObject({ status: 200, body: { accountNumber: account, deleted: true } });
      await expectDeletionNotice(live, account);
      await expectGone(account);
    },
  );

  it("returns 500 while finance or metrics does not answer, and the retry completes the deletion", async () => {
    for (const name of ["finance", "metrics"]) {
      const account = await client.openAccount(100);
      const neighbour = system.stack.process(name);
      neighbour.kill("SIGSTOP");
      await expectUnavailable(() => deleteNow(account));
      neighbour.kill("SIGCONT");
      expect(await deleteNow(account)).toMatchObject({ status: 200, body: { accountNumber: account, deleted: true } });
      await expectGone(account);
    }
  });
});

describe("the queued deletion", () => {
  it("fails for an account with an open position; otherwise it hides the account, as the immediate deletion does", async () => {
    const { account, positionId } = await fullAccount();
    const live = await watching(account);
    const queued = (): Promise<Answer<{ command: { id: string } }>> =>
      client.send("POST", `/accounts/${account}/delete`, { requestId: "delete" }, randomUUID());
    const refused = await queued();
    expect(await client.finished(refused.body.command.id)).toMatchObject({
      status: "failed",
      errorCode: "ACCOUNT_HAS_OPEN_POSITIONS",
    });
    expect(await client.account(account)).toMatchObject({ status: "active", openPositionCount: 1 });
    await control.close(account, positionId);
    const accepted = await queued();
    expect(accepted.status).toBe(202);
    expect((await client.succeeded(accepted.body.command.id)).result).toEqual({
      accountNumber: account,
      deleted: true,
    });
    await expectGone(account);
    await expectDeletionNotice(live, account);
    expect(await deleteNow(account)).toMatchObject({ status: 200, body: { accountNumber: account, deleted: true } });
  });
});

describe("while the metrics service is unavailable", () => {
  it("the list of accounts returns 500, because metrics has the accounts' last values", async () => {
    await client.openAccount(100);
    const metrics = system.stack.process("metrics");
    metrics.kill("SIGSTOP");
    await Promise.all(
      ["", "?limit=1", "?status=active"].map((query) =>
        expectUnavailable(() => client.call("GET", client.server(`/accounts${query}`))),
      ),
    );
    metrics.kill("SIGCONT");
    await eventually(async () => expect((await client.call("GET", client.server("/accounts"))).status).toBe(200));
  });
});
