import { Committer } from "@kapi/bridge";
import { assertDefined, systemClock } from "@kapi/kernel";
import { serverEntry } from "@kapi/testkit";
import type { Change } from "@kapi/trading-server";
import { expect, it } from "vitest";

import { order, SERVER_ID } from "../../test/test-trading-context.ts";
import { type Account, fromState, toState } from "../domain/account.ts";
import { placeOrder } from "../domain/trading.ts";
import { applyChanges } from "./apply-changes.ts";
import { configureServer } from "./configure-server.ts";
import { Engine } from "./engine.ts";
import type { TradingServer } from "./server.ts";

const FLATTEN = { reference: "flatten", accountNumber: "10000001" };
const CREATE: Change = {
  reference: "create",
  accountNumber: "10000001",
  type: "create",
  accountName: "A",
  leverage: 100,
  currency: "USD",
  initialBalanceMinor: 100_000_000,
  tradingPassword: "password1",
  investorPassword: "password2",
};

it.each<[by: string, flatten: Change, end: Change]>([
  [
    "an account that was deleted meanwhile",
    { ...FLATTEN, type: "flatten" },
    { reference: "end", accountNumber: "10000001", type: "delete", closePositions: true },
  ],
  [
    "an account that was archived meanwhile",
    { ...FLATTEN, type: "set_status", status: "disabled", flatten: true },
    { reference: "end", accountNumber: "10000001", type: "set_status", status: "archived" },
  ],
])("a rejected flatten of %s is removed from memory and from the stored state", async (_, flatten, end) => {
  const states: string[] = [];
  const committer = new Committer<Account, TradingServer>({
    journal: {
      write: ({ accounts }) => {
        states.push(...accounts.map(({ state }) => state));
        return Promise.resolve();
      },
    },
    publisher: { events: () => undefined, valuations: () => undefined },
    stateText: { account: toState, server: (server) => server.toState() },
    lastPosition: 0,
    onStored: () => undefined,
    fatal: (error) => {
      throw error;
    },
  });
  const feed = { seed: "test", recording: null, recordingSpeed: 1 };
  const engine = new Engine({ clock: systemClock, feed, committer, servers: new Map() });
  configureServer(engine, SERVER_ID, serverEntry().configuration);
  const server = engine.server(SERVER_ID);
  const statusOf = async (change: Change) => (await applyChanges(engine, server, [change]))[0]?.applied;

  expect(await statusOf(CREATE)).toBe(true);
  const account = assertDefined(server.existingAccount("10000001"), "the account");
  placeOrder(engine.context(server), account, order());
  server.market.setOpen("EURUSD", false);
  expect(await statusOf(flatten)).toBe("incomplete");
  // As if the trader had closed the position: an account with positions cannot be archived.
  if (end.type === "set_status") account.positions.clear();
  expect(await statusOf(end)).toBe(true);
  await committer.stored();
  expect(await statusOf(flatten)).toBe(false);

  expect(server.flattening.size).toBe(0);
  await committer.stored();
  expect(fromState(states.at(-1) ?? "").flattening).toEqual({});
});
