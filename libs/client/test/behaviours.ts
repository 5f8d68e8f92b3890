/**
 * What users of the client rely on. The same tests run against the fake and against a real kapi, so
 * that the fake behaves as the real one does.
 */
import { randomUUID } from "node:crypto";

import { expect, it } from "vitest";

import {
  type Account,
  CommandFailed,
  ConflictError,
  type CreditUsage,
  type FeedEvent,
  InvalidRequestError,
  type LiveEvent,
  NotFoundError,
  PermissionError,
  StillRunning,
  WebhookSignatureError,
} from "../src/index.ts";
import { addKeyTests } from "./key-behaviours.ts";
import { addRiskTests } from "./risk-behaviours.ts";
import type { Subject } from "./subject.ts";

/** Declares the tests; `subject` is called when they run. */
export function itBehaves(subject: () => Subject): void {
  const server = () => subject().kapi.server(subject().serverId);
  const newKey = (): string => `key-${randomUUID()}`;
  const newAccount = async (initialBalance = "1000"): Promise<string> => {
    const account = { accountName: "Behaviour", initialBalance, leverage: 100 };
    return (await (await server().accounts.create(account, { key: newKey() })).result()).accountNumber;
  };

  it("creates an account once for an idempotency key, with credentials in the first response only", async () => {
    const account = { accountName: "Ada Obi", initialBalance: "10000.5", leverage: 100 };
    const key = newKey();
    const first = await server().accounts.create(account, { key });
    expect(first).toMatchObject({ duplicate: false, operation: "account.create", idempotencyKey: key });
    expect(first.credentials?.tradingPassword.length).toBeGreaterThan(7);
    const { accountNumber } = await first.result();
    const again = await server().accounts.create(account, { key });
    expect(again).toMatchObject({ id: first.id, duplicate: true, credentials: null });
    expect((await again.result()).accountNumber).toBe(accountNumber);
    const details = await server().account(accountNumber).get();
    expect(details.account).toMatchObject({
      accountName: "Ada Obi",
      balance: "10000.50",
      status: "active",
      leverage: 100,
    });
    expect(details.credentials.login).toBe(accountNumber);
  });

  it("rejects an idempotency key that was used for another request", async () => {
    const key = newKey();
    const account = server().account(await newAccount());
    await (await account.deposit({ amount: "1" }, { key })).result();
    await expect(account.deposit({ amount: "2" }, { key })).rejects.toThrow(InvalidRequestError);
    await expect(
      server().accounts.create({ accountName: "A", initialBalance: "0", leverage: 100 }, { key }),
    ).rejects.toThrow(ConflictError);
  });

  it("moves money as exact decimal strings, and shows it in the ledger", async () => {
    const account = server().account(await newAccount("0"));
    const deposit = await account.deposit(
      { amount: "250.55", description: "Bonus" },
      { key: newKey(), requestId: "r-1" },
    );
    expect((await deposit.result()).balanceAfter).toBe("250.55");
    const withdrawal = await account.withdraw({ amount: "0.05" }, { key: newKey() });
    expect((await withdrawal.result()).balanceAfter).toBe("250.50");
    const ledger = await account.transactions().toArray();
    expect(ledger.map(({ type, amount, balanceAfter }) => [type, amount, balanceAfter])).toEqual([
      ["withdrawal", "-0.05", "250.50"],
      ["deposit", "250.55", "250.55"],
    ]);
    expect(ledger[1]).toMatchObject({ description: "Bonus", requestId: "r-1", commandId: deposit.id, sequence: 1 });
    expect((await account.transactions({ type: "deposit" }).toArray()).length).toBe(1);
  });

  it("reports a command that fails, with its code", async () => {
    const account = server().account(await newAccount("10"));
    const withdrawal = await account.withdraw({ amount: "11" }, { key: newKey() });
    const error: unknown = await withdrawal.result().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CommandFailed);
    expect(error).toMatchObject({ code: "INSUFFICIENT_FUNDS", command: { id: withdrawal.id, status: "failed" } });
  });

  it("throws StillRunning if a command is not final in time, and can wait for the command again", async () => {
    const accountNumber = await newAccount("0");
    await subject().hold(accountNumber);
    const deposit = await server().account(accountNumber).deposit({ amount: "5" }, { key: newKey() });
    await expect(deposit.result({ timeoutMs: 300 })).rejects.toThrow(StillRunning);
    await subject().release();
    expect((await deposit.result()).balanceAfter).toBe("5.00");
  });

  it("reads a list by cursor: each record once, although records are added meanwhile", async () => {
    const accountNumber = await newAccount("0");
    const account = server().account(accountNumber);
    for (let count = 0; count < 5; count += 1)
      await (await account.deposit({ amount: "1" }, { key: newKey() })).result();
    const before = (await account.transactions().toArray()).map(({ id }) => id);
    const read: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await account.transactions().page({ limit: 2, cursor });
      read.push(...page.items.map(({ id }) => id));
      await (await account.deposit({ amount: "1" }, { key: newKey() })).result();
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(read).toEqual(before);
    expect((await account.transactions().first())?.balanceAfter).toBe("8.00");
  });

  it("includes records at `since` and excludes records at `until`, but includes commands at `from` and at `to`", async () => {
    const account = server().account(await newAccount());
    const key = newKey();
    const deposit = await account.deposit({ amount: "5" }, { key });
    await deposit.result();
    const { id: commandId, createdAt } = await deposit.get();
    const commandsOf = async (period: { from?: string; to?: string }): Promise<string[]> =>
      (
        await server()
          .commands({ idempotencyKey: key, ...period })
          .toArray()
      ).map(({ id }) => id);
    expect(await commandsOf({ from: createdAt, to: createdAt })).toEqual([commandId]);
    expect(await commandsOf({ from: millisecondAfter(createdAt) })).toEqual([]);

    const recordedAt = (await account.transactions({ commandId }).first())?.recordedAt ?? "";
    expect(await account.transactions({ commandId, since: inAnotherZone(recordedAt) }).toArray()).toHaveLength(1);
    expect(await account.transactions({ commandId, until: inAnotherZone(recordedAt) }).toArray()).toEqual([]);
    expect(await account.transactions({ commandId, until: millisecondAfter(recordedAt) }).toArray()).toHaveLength(1);

    const billed = (period: { since?: string; until?: string }): Promise<CreditUsage[]> =>
      subject()
        .kapi.credits.usage({ operation: "depositAccountFunds", commandId, ...period })
        .toArray();
    await expect.poll(() => billed({})).toMatchObject([{ credits: 5 }]);
    const at = (await billed({}))[0]?.at ?? "";
    expect(await billed({ since: at })).toHaveLength(1);
    expect(await billed({ until: at })).toEqual([]);
    expect(await billed({ since: millisecondAfter(at) })).toEqual([]);
  });

  it("finds accounts by a part of their name or number, and commands by the beginning of their key", async () => {
    const accountName = `Search-${randomUUID()}`;
    const key = newKey();
    const created = await server().accounts.create({ accountName, initialBalance: "0", leverage: 100 }, { key });
    const { accountNumber } = await created.result();
    const numbersOf = async (search: string): Promise<string[]> =>
      (await server().accounts.list({ search }).toArray()).map((account) => account.accountNumber);
    expect(await numbersOf(accountName.slice(1).toLowerCase())).toEqual([accountNumber]);
    expect(await numbersOf(accountNumber.slice(1))).toContain(accountNumber);
    expect(await numbersOf(randomUUID())).toEqual([]);
    const found = await server()
      .commands({ idempotencyKeyPrefix: key.slice(0, -1) })
      .toArray();
    expect(found.map(({ id }) => id)).toEqual([created.id]);
  });

  it("shows the positions and deals of an account, and exports them with the account's orders and transactions", async () => {
    const accountNumber = await newAccount();
    const account = server().account(accountNumber);
    await subject().trade(accountNumber);
    await expect.poll(async () => (await account.deals().toArray()).length).toBe(2);
    expect(await account.openPositionCount()).toBe(0);
    const [position] = await account.positions({ status: "closed" }).toArray();
    expect(position).toMatchObject({ status: "closed", symbol: "EURUSD" });
    expect((await account.deals({ positionId: position?.id }).toArray()).length).toBe(2);
    const kinds: string[] = [];
    for await (const record of account.export({ key: newKey() })) kinds.push(record.kind);
    for (const kind of ["transaction", "order", "position", "deal"]) expect(kinds).toContain(kind);
  });

  it("creates many accounts, each with its own key, and finds their commands by the key of the bulk", async () => {
    const accounts = Array.from({ length: 3 }, (_each, index) => ({
      accountName: `Bulk ${index}`,
      initialBalance: "1",
      leverage: 100,
    }));
    const key = newKey();
    const queued = await server().accounts.createMany(accounts, { key });
    expect(queued.map(({ idempotencyKey }) => idempotencyKey)).toEqual([`${key}:0`, `${key}:1`, `${key}:2`]);
    const results = await subject().kapi.commands.waitAll(queued);
    const numbers = results.map((result) => (result.status === "fulfilled" ? result.value.accountNumber : "failed"));
    expect(new Set(numbers).size).toBe(3);
    const found = await server().commands({ bulkIdempotencyKey: key }).toArray();
    expect(new Set(found.map(({ id }) => id))).toEqual(new Set(queued.map(({ id }) => id)));
    const again = await server().accounts.createMany(accounts, { key });
    expect(again.map(({ id, duplicate }) => [id, duplicate])).toEqual(queued.map(({ id }) => [id, true]));
    for (const number of numbers) expect((await server().accounts.get(number)).account.balance).toBe("1.00");
  });

  it("renames, disables, enables and deletes an account, and resets its trading password", async () => {
    const account = server().account(await newAccount());
    expect(await (await account.update({ accountName: "New name" }, { key: newKey() })).result()).toMatchObject({
      accountName: "New name",
    });
    expect(await (await account.disable({ key: newKey() })).result()).toEqual({ status: "disabled", changed: true });
    expect(await (await account.enable({ key: newKey() })).result()).toEqual({ status: "active", changed: true });
    expect((await account.resetTradingPassword({ key: newKey() })).password?.length).toBeGreaterThan(7);
    expect(await (await account.delete({ key: newKey() })).result()).toMatchObject({ deleted: true });
    await expect(account.get()).rejects.toThrow(NotFoundError);
  });

  it("deletes an account at once: open positions are closed first, and a repeated deletion has the same result", async () => {
    const { kapi } = subject();
    const account = server().account(await newAccount());
    await subject().openPosition(account.accountNumber);
    let cursor = (await kapi.events.page({ after: "now" })).next;
    const types: string[] = [];
    expect(await account.deleteImmediately()).toMatchObject({ deleted: true });
    expect(await account.deleteImmediately()).toMatchObject({ deleted: true });
    await expect(account.get()).rejects.toThrow(NotFoundError);
    await expect
      .poll(async () => {
        const page = await kapi.events.page({ after: cursor });
        cursor = page.next;
        const own = page.events.filter(({ data }) => data.accountNumber === account.accountNumber);
        types.push(...own.map(({ type }) => type));
        return types.filter((type) => type === "position.closed" || type === "account.deleted");
      })
      .toEqual(["position.closed", "account.deleted"]);
  });

  it("shows an account as it was at an earlier time, and rejects a time in the future or before the account existed", async () => {
    const account = server().account(await newAccount());
    const before = new Date();
    // From here on, everything happens in a later millisecond.
    await expect.poll(() => Date.now()).toBeGreaterThan(before.getTime());
    await (await account.deposit({ amount: "250.55" }, { key: newKey() })).result();
    await subject().trade(account.accountNumber);
    expect(await account.stateAt(before)).toMatchObject({ balance: "1000.00", positionCount: 0, positions: [] });
    const [position] = await account.positions().toArray();
    const open = await account.stateAt(new Date(position?.openedAt ?? ""));
    if (position?.closedAt !== position?.openedAt) {
      expect(open).toMatchObject({ positionCount: 1, positions: [{ id: position?.id, closedVolume: 0 }] });
    }
    const [last] = await account.transactions().toArray();
    await expect
      .poll(() => account.stateAt(new Date(Math.max(Date.now() - 1, before.getTime()))))
      .toMatchObject({ balance: last?.balanceAfter, positionCount: 0, positions: [] });
    for (const at of [new Date(Date.now() + 86_400_000), new Date("2020-01-01T00:00:00Z")]) {
      await expect(account.stateAt(at)).rejects.toMatchObject({ status: 400, issues: [{ path: ["at"] }] });
    }
  });

  it("throws errors with status, code, request id and issues", async () => {
    const error: unknown = await server()
      .accounts.create({ accountName: "A", initialBalance: "0", leverage: 100 }, { key: "" })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect(error).toMatchObject({ status: 400, code: "VALIDATION_FAILED", retryable: false });
    expect((error as InvalidRequestError).requestId.length).toBeGreaterThan(10);
    expect((error as InvalidRequestError).issues[0]?.path).toEqual(["Idempotency-Key"]);
    const elsewhere = subject().kapi.server(randomUUID());
    await expect(elsewhere.configuration()).rejects.toThrow(PermissionError);
  });

  it("reads the event feed from a stored cursor, and continues after an error of the handler", async () => {
    let cursor: string | null = "now";
    const cursorStore = {
      load: async () => cursor,
      save: async (saved: string) => {
        cursor = saved;
      },
    };
    const { kapi } = subject();
    cursor = (await kapi.events.page({ after: "now" })).next;
    const account = server().account(await newAccount());
    const types: string[] = [];
    const take = ({ type, data }: FeedEvent): void => {
      if (data.accountNumber === account.accountNumber) types.push(type);
    };
    const read = (): Promise<number> => kapi.webhooks.catchUp({ cursorStore }, take);
    await expect
      .poll(async () => {
        await read();
        return types;
      })
      .toEqual(["account.created", "transaction.recorded"]);
    await (await account.disable({ key: newKey() })).result();
    let failures = 1;
    const failing = (): Promise<number> =>
      kapi.webhooks.catchUp({ cursorStore }, (event) => {
        failures -= 1;
        if (failures >= 0) throw new Error("database unavailable");
        take(event);
      });
    await expect
      .poll(() =>
        failing().then(
          () => "read",
          (error: Error) => error.message,
        ),
      )
      .toBe("database unavailable");
    await expect.poll(() => failing().then(() => types.at(-1))).toBe("account.disabled");
  });

  it("follows an account live, with amounts as decimal strings, and proves that no sample is missing", async () => {
    const accountNumber = await newAccount();
    const account: Account = { serverId: subject().serverId, accountNumber };
    const live = subject().kapi.live({ places: { load: async () => null } });
    const events: LiveEvent[] = [];
    live.follow(account, (event) => void events.push(event));
    await subject().moveEquity(accountNumber);
    await expect.poll(() => events.some((event) => event.type === "sample")).toBe(true);
    const [first] = events;
    expect(first?.type === "sample" && first.sample.balance).toMatch(/^\d+\.\d\d$/);
    expect(live.proof(account)).toMatchObject({ contiguous: true, truncations: [] });
    await live.close();
  });

  it("reads the credits, the prices and the usage lines", async () => {
    const { kapi } = subject();
    const before = await kapi.credits.balance();
    expect(before.lifetimePurchased).toBe(before.availableCredits + before.reservedCredits + before.lifetimeConsumed);
    expect((await kapi.credits.prices()).read).toBe(1);
    await expect.poll(async () => (await kapi.credits.usage().first()) !== null).toBe(true);
  });

  addKeyTests(() => ({ ...subject(), newAccount, newKey }));
  addRiskTests(() => ({ ...subject(), newAccount, newKey }));

  it("rejects a webhook that is not authentic", () => {
    const headers = { "webhook-id": "1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA" };
    const secret = `whsec_${Buffer.alloc(32).toString("base64")}`;
    expect(() => subject().kapi.webhooks.verify("{}", headers, secret)).toThrow(WebhookSignatureError);
  });
}

function millisecondAfter(time: string): string {
  return new Date(Date.parse(time) + 1).toISOString();
}

/** The same time, written with the offset of another time zone. */
function inAnotherZone(time: string): string {
  return new Date(Date.parse(time) + 3_600_000).toISOString().replace("Z", "+01:00");
}
