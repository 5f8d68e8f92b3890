/** The state of an account at a past time, as support reads it in a dispute with a trader. */
import { Kapi } from "@kapi/client";
import { eventually } from "@kapi/testkit";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";

import { bounded } from "../properties/settings.ts";
import { OutsideClient } from "./outside-client.ts";
import { type RunningSystem, startSystem } from "./system.ts";
import { TradingControl } from "./trading-control.ts";

const RUNS = 4;
const MAX_STEPS = 14;
const INITIAL_BALANCE = 100_000;
const HIGH_LEVERAGE = 500;
const PROPERTY_TIMEOUT_MS = 120_000;

let system: RunningSystem;
let client: OutsideClient;
let control: TradingControl;
let kapi: Kapi;

beforeAll(async () => {
  // Prices only change when a test changes them, so only the steps of a test change a balance.
  system = await startSystem({ "trading-simulator": { TICK_INTERVAL_MS: "0" } });
  client = new OutsideClient(system.demo);
  control = new TradingControl(system.demo);
  const { managementKey, baseUrl, wsBase } = system.demo;
  kapi = new Kapi({ key: managementKey, baseUrl, liveUrl: wsBase });
});
afterAll(() => system.stop());

const accountOf = (accountNumber: string) => kapi.server(system.demo.serverId).account(accountNumber);

/** Waits until the clock shows another millisecond, and returns it. */
async function nextMillisecond(): Promise<number> {
  const ms = Date.now();
  return eventually(() => Date.now() > ms && Date.now(), { intervalMs: 1 });
}

type Step =
  | { readonly kind: "deposit"; readonly cents: number }
  | { readonly kind: "open"; readonly size: number }
  | { readonly kind: "close"; readonly choice: number; readonly size: number };
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("deposit" as const), cents: fc.integer({ min: 1, max: 500_000 }) }),
  fc.record({ kind: fc.constant("open" as const), size: fc.integer({ min: 2, max: 9 }) }),
  fc.record({ kind: fc.constant("close" as const), choice: fc.nat(9), size: fc.integer({ min: 1, max: 9 }) }),
);

/** The state of the naive model at a moment. Sizes in hundredths of a lot. */
interface Moment {
  readonly ms: number;
  readonly balanceMinor: number;
  readonly open: ReadonlyMap<string, { readonly opened: number; readonly left: number }>;
}

/**
 * Carries out the steps one after the other. Records a moment before the first step and after each
 * step. A "close" without an open position opens one.
 */
async function trade(accountNumber: string, steps: readonly Step[]): Promise<Moment[]> {
  const open = new Map<string, { opened: number; left: number }>();
  const moments: Moment[] = [];
  const remember = async (): Promise<void> => {
    // The trading server's own balance: commissions and results of closes are in it.
    const { balanceMinor } = await control.account(accountNumber);
    moments.push({ ms: await nextMillisecond(), balanceMinor, open: structuredClone(open) });
    await nextMillisecond();
  };
  await remember();
  for (const next of steps) {
    const chosen = next.kind === "close" ? [...open.keys()][next.choice % Math.max(1, open.size)] : undefined;
    if (next.kind === "deposit") {
      const queued = await client.deposit(accountNumber, { amount: next.cents / 100, requestId: "state" });
      await client.succeeded(queued.body.command.id);
    } else if (next.kind === "open" || chosen === undefined) {
      open.set(await control.buy(accountNumber, "EURUSD", next.size / 100), { opened: next.size, left: next.size });
    } else {
      const position = open.get(chosen);
      if (position === undefined) throw new Error(`position ${chosen} is not in the model`);
      const closed = Math.min(position.left, next.size);
      await control.closeIfOpen(accountNumber, chosen, closed === position.left ? null : closed / 100);
      position.left -= closed;
      if (position.left === 0) open.delete(chosen);
    }
    await remember();
  }
  return moments;
}

it(
  "a state has the balance and the open volumes of its time, after each step of a random history",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 3, maxLength: MAX_STEPS }),
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        async (steps, chance) => {
          const accountNumber = await client.openAccount(INITIAL_BALANCE, HIGH_LEVERAGE);
          const moments = await trade(accountNumber, steps);
          const questions = moments.toSorted(() => (chance.next().value ?? 0) - 0.5);
          for (const { ms, balanceMinor, open } of questions) {
            const state = await accountOf(accountNumber).stateAt(new Date(ms));
            expect(state).toMatchObject({
              serverId: system.demo.serverId,
              accountNumber,
              at: new Date(ms).toISOString(),
              currency: "USD",
              positionCount: open.size,
            });
            expect(state.balance).toBe((balanceMinor / 100).toFixed(2));
            const volumes = state.positions.map(({ id, volume, closedVolume }) => ({ id, volume, closedVolume }));
            const expected = [...open].map(([id, { opened, left }]) => ({
              id,
              volume: opened / 100,
              closedVolume: (opened - left) / 100,
            }));
            expect(volumes).toEqual(expected.toReversed());
          }
        },
      ),
      bounded(RUNS),
    );
  },
  PROPERTY_TIMEOUT_MS,
);

it("a state before the account began is rejected, and the error says when the account began", async () => {
  const accountNumber = await client.openAccount(INITIAL_BALANCE, HIGH_LEVERAGE);
  const { createdAt } = (await accountOf(accountNumber).get()).account;
  expect((await accountOf(accountNumber).stateAt(new Date(createdAt))).positions).toEqual([]);
  const before = new Date(Date.parse(createdAt) - 1);
  await expect(accountOf(accountNumber).stateAt(before)).rejects.toMatchObject({
    status: 400,
    issues: [{ path: ["at"], message: `must not be before the account began: ${createdAt}` }],
  });
});
