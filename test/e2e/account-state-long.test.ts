/** Equity of an account at a past time. Waits for a minute to end (`npm run verify -- long`). */
import { Kapi } from "@kapi/client";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { OutsideClient } from "./outside-client.ts";
import { type RunningSystem, startSystem } from "./system.ts";

const INITIAL_BALANCE = 100_000;
const HIGH_LEVERAGE = 500;
const MINUTE_MS = 60_000;
/** A minute, and the time until its snapshot is stored. */
const SNAPSHOT_TIMEOUT_MS = 90_000;
const TEST_TIMEOUT_MS = 120_000;

let system: RunningSystem;
let client: OutsideClient;
let kapi: Kapi;

beforeAll(async () => {
  system = await startSystem({ "trading-simulator": { TICK_INTERVAL_MS: "0" } });
  client = new OutsideClient(system.demo);
  const { managementKey, baseUrl, wsBase } = system.demo;
  kapi = new Kapi({ key: managementKey, baseUrl, liveUrl: wsBase });
});
afterAll(() => system.stop());

const accountOf = (accountNumber: string) => kapi.server(system.demo.serverId).account(accountNumber);

it(
  "the state of an account has the equity of the last full minute and its age; before the first minute has ended, it has no equity",
  async () => {
    const accountNumber = await client.openAccount(INITIAL_BALANCE, HIGH_LEVERAGE);
    const account = accountOf(accountNumber);
    const path = client.server(`/account-metrics?accountNumber=${accountNumber}&limit=100`);
    interface Snapshot {
      readonly equity: number;
      readonly measuredAt: string;
    }
    // The first sample is measured at the creation. Its snapshot is stored after the end of the
    // minute.
    const snapshots = await eventually(
      async () => {
        const { body } = await client.call<{ snapshots: readonly Snapshot[] }>("GET", path);
        return body.snapshots.length > 0 && body.snapshots;
      },
      { timeoutMs: SNAPSHOT_TIMEOUT_MS, intervalMs: 1_000 },
    );
    const snapshot = snapshots.at(-1);
    // `measuredAt` of a snapshot is the start of the minute.
    const minute = Date.parse(snapshot?.measuredAt ?? "");
    // The state includes the whole millisecond `at`. At the last millisecond of a minute, no later
    // sample of this minute can follow, so the equity of this minute is final.
    const over = await account.stateAt(new Date(minute + MINUTE_MS - 1));
    expect(over.equity).toEqual({
      value: (snapshot?.equity ?? 0).toFixed(2),
      measuredAt: snapshot?.measuredAt,
      ageMs: MINUTE_MS - 1,
    });
    const { createdAt } = (await account.get()).account;
    const during = Math.max(Date.parse(createdAt), minute + MINUTE_MS - 2);
    if (during < minute + MINUTE_MS - 1) expect((await account.stateAt(new Date(during))).equity).toBeNull();
  },
  TEST_TIMEOUT_MS,
);
