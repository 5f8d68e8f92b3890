/** What users of the client rely on when requests are repeated, and what repeated requests cost. */
import { expect, it } from "vitest";

import { ConflictError, InvalidRequestError, type NewAccount, NotFoundError } from "../src/index.ts";
import type { Subject } from "./subject.ts";

interface KeySubject extends Subject {
  newAccount(): Promise<string>;
  newKey(): string;
}

const accountsOf = (...names: string[]): NewAccount[] =>
  names.map((accountName) => ({ accountName, initialBalance: "1", leverage: 100 }));

/** Declares the tests; `subject` is called when they run. */
export function addKeyTests(subject: () => KeySubject): void {
  const server = () => subject().kapi.server(subject().serverId);
  const newKey = (): string => subject().newKey();

  it("a repeated deletion is a duplicate, although the account no longer exists", async () => {
    const account = server().account(await subject().newAccount());
    const key = newKey();
    const first = await account.delete({ key });
    await first.result();
    expect(await account.delete({ key })).toMatchObject({ id: first.id, duplicate: true });
    await expect(account.deposit({ amount: "1" }, { key })).rejects.toThrow(InvalidRequestError);
    await expect(account.delete({ key: newKey() })).rejects.toThrow(NotFoundError);
  });

  it("a bulk queues nothing if the key of an item was used for another request", async () => {
    const { accounts } = server();
    const key = newKey();
    await accounts.createMany(accountsOf("A", "B"), { key });
    const failed = accounts.createMany(accountsOf("A", "Other", "C"), { key });
    await expect(failed).rejects.toThrow(ConflictError);
    await expect(failed).rejects.toThrow("accounts[1]");
    const commands = await server().commands({ bulkIdempotencyKey: key }).toArray();
    expect(commands).toHaveLength(2);
    const added = await accounts.createMany(accountsOf("A", "B", "C"), { key });
    expect(added.map(({ duplicate }) => duplicate)).toEqual([true, true, false]);
  });

  it("an item of a bulk and an equal single creation under the item's key are one command", async () => {
    const { accounts } = server();
    const key = newKey();
    const [one, other] = accountsOf("A", "B") as [NewAccount, NewAccount];
    const single = await accounts.create(other, { key: `${key}:1` });
    const bulk = await accounts.createMany([one, other], { key });
    expect(bulk.map(({ duplicate }) => duplicate)).toEqual([false, true]);
    expect(bulk[1]).toMatchObject({ id: single.id, credentials: null });
    expect(await accounts.create(one, { key: `${key}:0` })).toMatchObject({ id: bulk[0]?.id, duplicate: true });
  });

  it("a bulk without an idempotency key is rejected", async () => {
    await expect(server().accounts.createMany(accountsOf("A"), { key: "", requestId: "r" })).rejects.toMatchObject({
      status: 400,
      issues: [{ path: ["Idempotency-Key"] }],
    });
  });

  it("an export from and to the exact time of a record includes the record, even if the time has an offset from UTC", async () => {
    const account = server().account(await subject().newAccount());
    await (await account.deposit({ amount: "5" }, { key: newKey() })).result();
    const [deposit] = await account.transactions({ type: "deposit" }).toArray();
    const time = Date.parse(deposit?.recordedAt ?? "");
    const withOffset = new Date(time + 3_600_000).toISOString().replace("Z", "+01:00");
    const ids: string[] = [];
    const period = { from: withOffset, to: withOffset };
    for await (const { id } of account.export({ key: newKey(), ...period })) ids.push(id);
    expect(ids).toContain(deposit?.id);
    const [exported] = await server().commands({ operation: "account.history_export" }).toArray();
    const at = new Date(time).toISOString();
    expect(exported?.result).toMatchObject({ from: at, to: at });
  });

  it("a request costs its price, and a duplicate costs the price of a read", async () => {
    const { kapi } = subject();
    const { read, create, bulkItem, export: exported, mutation } = await kapi.credits.prices();
    const account = server().account(await subject().newAccount());
    const since = new Date(Date.now() + 1);
    // From here on, everything happens at `since` or later.
    await expect.poll(() => Date.now()).toBeGreaterThanOrEqual(since.getTime());
    const twice = async (request: (key: string) => Promise<unknown>): Promise<void> => {
      const key = newKey();
      await request(key);
      await request(key);
    };
    const [one] = accountsOf("A") as [NewAccount];
    await twice((key) => server().accounts.create(one, { key }));
    await twice((key) => account.enable({ key }));
    await twice((key) => account.export({ key }).next());
    const bulk = newKey();
    for (const names of [["A"], ["A", "B", "C"], ["A", "B", "C"]]) {
      await server().accounts.createMany(accountsOf(...names), { key: bulk });
    }
    for (const [operation, credits] of [
      ["createTradingAccount", create + read],
      ["enableAccount", mutation + read],
      ["exportAccountHistory", exported + read],
      ["bulkCreateTradingAccounts", 3 * bulkItem + read],
    ] as const) {
      const lines = async (): Promise<number[]> =>
        (await kapi.credits.usage({ operation, since }).toArray()).map((line) => line.credits);
      await expect
        .poll(async () => (await lines()).reduce((sum, line) => sum + line, 0), { message: operation })
        .toBe(credits);
    }
  });
}
