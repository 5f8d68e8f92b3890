import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";

import { directoryKey, TOPICS } from "@kapi/contracts";
import { statement } from "@kapi/postgres";
import { eventually, serverEntry } from "@kapi/testkit";
import { createEventHistory } from "@kapi/trading-server/event-feed";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import {
  rebuildAccount,
  type RebuildOptions,
  type RebuiltAccount,
  rebuildServer,
} from "../src/operations/rebuild-history.ts";
import { deleteHistory } from "../src/outbound/postgres/delete-history.ts";
import { createStagedHistory } from "../src/outbound/postgres/staged-history.ts";
import { HistoryHarness } from "./history-harness.ts";

const COMMAND = fileURLToPath(new URL("../src/rebuild-history.ts", import.meta.url));
const EURUSD = { symbol: "EURUSD", side: "buy" } as const;
const SPOIL = statement(
  "test-spoil",
  "update deals set price = price + 1 where server_id = $1 and account_number = $2",
);
const LOSE_DEALS = statement(
  "test-lose-deals",
  "delete from deals where server_id = $1 and account_number = $2 and n > 1",
);
const SHIFT_NUMBERS = statement(
  "test-shift-numbers",
  "update orders set n = n + 1000 where server_id = $1 and account_number = $2 and n <= 2",
);
/** Number of account events of an account that `tradedAccount` returns. */
const EVENTS = 46;
const LOSE_FEED = statement("test-lose-feed", "delete from feeds where server_id = $1 and account_number = $2");

describe("a rebuild of the history", () => {
  let harness: HistoryHarness;
  beforeAll(async () => {
    harness = await HistoryHarness.create();
  });
  afterAll(async () => {
    await harness.stop();
  });

  /**
   * An account with pending, cancelled and executed orders, partial closes and two open positions.
   */
  async function tradedAccount(): Promise<string> {
    const account = await harness.openAccount();
    for (let index = 0; index < 6; index += 1) {
      const { positionId } = await harness.trade("POST", account, "/orders", { ...EURUSD, volume: 0.3 });
      if (index > 0) await harness.trade("POST", account, `/positions/${positionId}/close`, { volume: 0.1 });
      if (index > 1) await harness.trade("POST", account, `/positions/${positionId}/close`);
    }
    const limit = { ...EURUSD, volume: 0.1, orderType: "limit", price: 0.5 };
    await harness.trade("POST", account, "/orders", limit);
    const { order } = await harness.trade("POST", account, "/orders", limit);
    await harness.trade("DELETE", account, `/orders/${order.id}`);
    await harness.booked(account);
    return account;
  }

  function options(onProgress: RebuildOptions["onProgress"] = () => undefined): RebuildOptions {
    return {
      staged: createStagedHistory(harness.database),
      history: createEventHistory(harness.client),
      lastSequence: async ({ serverId, accountNumber }) =>
        (await harness.client.eventSequence(serverId, accountNumber)) ?? 0,
      onProgress,
    };
  }

  async function rebuild(accountNumber: string): Promise<RebuiltAccount | undefined> {
    let result: RebuiltAccount | undefined;
    await rebuildAccount(
      options((_done, _total, [account]) => {
        result = account;
      }),
      { serverId: harness.serverId, accountNumber },
    );
    return result;
  }

  it("changes only wrong rows, and publishes no event twice", async () => {
    const account = await tradedAccount();
    const rows = await harness.rows(account);
    await eventually(() => expect(harness.eventsOf(account)).toHaveLength(EVENTS));
    expect(await rebuild(account)).toMatchObject({ kind: "rebuilt", different: 0 });
    expect(await harness.rows(account)).toEqual(rows);
    for (const [spoil, different] of [
      [SPOIL, 15],
      [LOSE_DEALS, 14],
      [SHIFT_NUMBERS, 2],
    ] as const) {
      await harness.database.query(spoil, [harness.serverId, account]);
      expect(await harness.rows(account)).not.toEqual(rows);
      expect(await rebuild(account)).toMatchObject({ kind: "rebuilt", different });
      expect(await harness.rows(account)).toEqual(rows);
    }
    await harness.database.query(LOSE_FEED, [harness.serverId, account]);
    expect(await rebuild(account)).toMatchObject({ kind: "rebuilt", different: 0 });
    expect(await harness.rows(account)).toEqual(rows);
    await harness.trade("POST", account, "/orders", { ...EURUSD, volume: 0.1 });
    const accountEvents = await eventually(
      () => harness.eventsOf(account).length >= EVENTS + 3 && harness.eventsOf(account),
    );
    expect(accountEvents.map(({ accountSequence }) => accountSequence)).toEqual(
      accountEvents.map((_, index) => index + 1),
    );
  });

  it("includes concurrently booked events once", async () => {
    const account = await tradedAccount();
    await harness.database.query(SPOIL, [harness.serverId, account]);
    const trading = (async () => {
      for (let index = 0; index < 30; index += 1)
        await harness.trade("POST", account, "/orders", { ...EURUSD, volume: 0.01 });
    })();
    for (let round = 0; round < 5; round += 1) expect((await rebuild(account))?.kind).toBe("rebuilt");
    await trading;
    await harness.booked(account);
    const rows = await harness.rows(account);
    expect(await rebuild(account)).toMatchObject({ kind: "rebuilt", different: 0 });
    expect(await harness.rows(account)).toEqual(rows);
    const { body } = await harness.get(account, "/deals?limit=1");
    expect(body.pagination.total).toBe(15 + 30);
  });

  it("stops at the last booked event, so that later events are still published", async () => {
    const account = await tradedAccount();
    await eventually(() => expect(harness.eventsOf(account)).toHaveLength(EVENTS));
    await harness.stopConsumer();
    const name = { serverId: harness.serverId, accountNumber: account };
    const booked = await harness.history.reader.bookedSequence(name);
    for (let index = 0; index < 5; index += 1) {
      await harness.trade("POST", account, "/orders", { ...EURUSD, volume: 0.01 });
    }
    expect(await rebuild(account)).toMatchObject({ kind: "rebuilt", different: 0, feed: { bookedSequence: booked } });
    expect(await harness.history.reader.bookedSequence(name)).toBe(booked);
    await harness.startConsumer();
    await harness.booked(account);
    await eventually(() => expect(harness.eventsOf(account)).toHaveLength(EVENTS + 15));
  });

  it("leaves an account unchanged if the trading server's history ends too early", async () => {
    const account = await tradedAccount();
    const rows = await harness.rows(account);
    const history = createEventHistory(harness.client);
    const cutOff: RebuildOptions["history"] = {
      since: async (name, sequence, limit) =>
        (await history.since(name, sequence, limit)).filter((event) => event.sequence <= 10),
    };
    let result: RebuiltAccount | undefined;
    const onProgress: RebuildOptions["onProgress"] = (_done, _total, [first]) => {
      result = first;
    };
    await rebuildAccount(
      { ...options(onProgress), history: cutOff },
      { serverId: harness.serverId, accountNumber: account },
    );
    expect(result?.kind).toBe("failed");
    expect(await harness.rows(account)).toEqual(rows);
    // Staged events are not read again.
    const asked: number[] = [];
    const counting: RebuildOptions["history"] = {
      since: (name, sequence, limit) => {
        asked.push(sequence);
        return history.since(name, sequence, limit);
      },
    };
    await rebuildAccount(
      { ...options(onProgress), history: counting },
      { serverId: harness.serverId, accountNumber: account },
    );
    expect(result).toMatchObject({ kind: "rebuilt", different: 0 });
    expect(Math.min(...asked)).toBe(10);
  });

  it("leaves no rows of a concurrently deleted account", async () => {
    const account = await tradedAccount();
    const history = createEventHistory(harness.client);
    const deleting: RebuildOptions["history"] = {
      since: async (name, sequence, limit) => {
        const events = await history.since(name, sequence, limit);
        await harness.setStatus(account, "deleting");
        await deleteHistory(harness.database, harness.serverId, account);
        return events;
      },
    };
    let result: RebuiltAccount | undefined;
    const onProgress: RebuildOptions["onProgress"] = (_done, _total, [first]) => {
      result = first;
    };
    await rebuildAccount(
      { ...options(onProgress), history: deleting },
      { serverId: harness.serverId, accountNumber: account },
    );
    expect(result?.kind).toBe("nothing");
    expect(await harness.rows(account)).toMatchObject({ orders: null, positions: null, deals: null });
    const name = { serverId: harness.serverId, accountNumber: account };
    expect(await createStagedHistory(harness.database).stagedSequence(name)).toBe(0);
  });

  it("of a whole server continues after an interruption", async () => {
    const staged = createStagedHistory(harness.database);
    const all = await staged.accounts(harness.serverId, { after: "", through: "99999999" }, 1_000);
    const numbers = all.map(({ accountNumber }) => accountNumber);
    const middle = numbers[1] ?? "";
    await staged.noteDone(harness.serverId, middle);
    const rest: string[] = [];
    let progress = "";
    await rebuildServer(
      options((done, total, accounts) => {
        rest.push(...accounts.map(({ accountNumber }) => accountNumber));
        progress = `${done} of ${total}`;
      }),
      harness.serverId,
    );
    expect(rest.toSorted()).toEqual(numbers.slice(2));
    expect(progress).toBe(`${rest.length} of ${rest.length}`);
    expect(await staged.doneThrough(harness.serverId)).toBeNull();
  });

  it("of a whole server leaves out an account that is created meanwhile, so that its events are still published", async () => {
    await harness.stopConsumer();
    // An account without booked events. The rebuild waits for a while before it reads the account's
    // history: the first events could still be on their way.
    const earlier = await harness.openAccount();
    const later = "99999999";
    const history = createEventHistory(harness.client);
    let isOpened = false;
    const opening: RebuildOptions["history"] = {
      since: async (name, sequence, limit) => {
        if (name.accountNumber === earlier && !isOpened) {
          isOpened = true;
          await harness.openAccount({ accountNumber: later });
          await harness.trade("POST", later, "/orders", { ...EURUSD, volume: 0.1 });
        }
        return history.since(name, sequence, limit);
      },
    };
    const rebuilt: string[] = [];
    const onProgress: RebuildOptions["onProgress"] = (_done, _total, accounts) => {
      rebuilt.push(...accounts.map(({ accountNumber }) => accountNumber));
    };
    await rebuildServer({ ...options(onProgress), history: opening }, harness.serverId);
    expect(rebuilt).toContain(earlier);
    await harness.startConsumer();
    await harness.booked(later);
    await eventually(() => {
      const types = harness.eventsOf(later).map(({ type }) => type);
      expect(types).toEqual(["order.executed", "deal.executed", "position.opened"]);
    });
    expect(rebuilt).not.toContain(later);
  });

  it("is one command that prints progress and differences", async () => {
    const account = await tradedAccount();
    await harness.database.query(SPOIL, [harness.serverId, account]);
    const entry = { ...serverEntry({ tradingServerUrl: harness.stack.tradingServerUrl }), serverId: harness.serverId };
    await harness.send(TOPICS.organizationDirectory, directoryKey(entry), entry);
    const { code, output } = await command(["--server", harness.serverId]);
    expect(output).toContain(`${account}: 15 rows differed; `);
    expect(output).toMatch(/^\d+ of \d+ accounts: \d+ events, 15 rows differed, 0 accounts failed$/m);
    expect(code).toBe(0);
    const again = await command(["--server", harness.serverId, "--account", account]);
    expect(again).toMatchObject({ code: 0 });
    expect(again.output).toMatch(/^1 of 1 accounts: \d+ events, 0 rows differed/m);
    expect((await command(["--server", "somewhere"])).code).toBe(2);
    expect((await command(["--server", randomUUID()])).code).toBe(2);
  });

  async function command(args: readonly string[]): Promise<{ code: number | null; output: string }> {
    const env = {
      ...process.env,
      ...harness.stack.environment.env,
      TRADING_SERVER_TOKEN: harness.stack.secrets.tradingServerToken,
    };
    const child = spawn(process.execPath, [COMMAND, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (text: Buffer) => {
        output += text.toString("utf8");
      });
    }
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    return { code, output };
  }
});
