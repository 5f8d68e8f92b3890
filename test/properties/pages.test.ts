/**
 * While a list does not change, its pages have every record once, newest first, for any page size
 * and gateway.
 */
import { randomUUID } from "node:crypto";

import { eventually } from "@kapi/testkit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { inFlight } from "../e2e/in-flight.ts";
import type { OutsideClient } from "../e2e/outside-client.ts";
import { startTwoGateways, type TwoGateways } from "../e2e/system.ts";
import { TradingControl } from "../e2e/trading-control.ts";
import { everyPage, onePage } from "./pages.ts";
import { bounded } from "./settings.ts";

const RUNS = 12;
const ACCOUNTS = 23;
const DEPOSITS = 31;
const POSITIONS = 17;
const IN_FLIGHT = 16;
const MAX_LIMIT = 100;
const PROPERTY_TIMEOUT_MS = 60_000;

/** The tested lists: path, field of the records, and the time that orders the records. */
const LISTS = [
  ["transactions", "transactions", "recordedAt"],
  ["orders", "orders", "createdAt"],
  ["positions", "positions", "openedAt"],
  ["positions?status=open", "positions", "openedAt"],
  ["positions?status=closed", "positions", "openedAt"],
  ["deals", "deals", "executedAt"],
  ["commands", "commands", "createdAt"],
  ["commands?operation=finance.deposit", "commands", "createdAt"],
  ["accounts", "accounts", "createdAt"],
  ["accounts?status=active", "accounts", "createdAt"],
] as const;

type Named = Readonly<Record<string, string>>;

let system: TwoGateways;
let clients: readonly [OutsideClient, OutsideClient];
let account: string;

beforeAll(async () => {
  // Prices do not change: a stop-out would change a list during the test.
  system = await startTwoGateways({ "trading-simulator": { TICK_INTERVAL_MS: "0" } });
  clients = await system.newOrganization();
  const [first] = clients;
  const accounts = await inFlight(ACCOUNTS, IN_FLIGHT, () => first.openAccount(10_000));
  account = accounts[0] ?? "";
  const commands = await inFlight(DEPOSITS, IN_FLIGHT, async (index) => {
    const answer = await first.deposit(account, { amount: index + 1, requestId: randomUUID() });
    return answer.body.command.id;
  });
  await Promise.all(commands.map((id) => first.succeeded(id)));
  const control = new TradingControl(first.demo);
  // Concurrent orders: some positions are opened at the same time.
  const positions = await inFlight(POSITIONS, IN_FLIGHT, () => control.buy(account, "EURUSD", 0.01));
  await inFlight(Math.floor(POSITIONS / 2), IN_FLIGHT, (index) => control.close(account, positions[index] ?? ""));
  await eventually(async () => (await lengthOf("deals")) === POSITIONS + Math.floor(POSITIONS / 2));
  // Wait until the transactions of all trades are booked.
  let known = -1;
  await eventually(
    async () => {
      const before = known;
      known = await lengthOf("transactions");
      return known > DEPOSITS + POSITIONS && known === before;
    },
    { intervalMs: 500 },
  );
});

afterAll(async () => {
  await system.stop();
});

const ofServer = (list: string): boolean => list.startsWith("commands") || list.startsWith("accounts");
const pathOf = (list: string): string => (ofServer(list) ? `/${list}` : `/accounts/${account}/${list}`);

async function lengthOf(list: string): Promise<number> {
  return (await onePage(clients[0], pathOf(list), list, { page: 1, limit: 1 })).pagination.total;
}

describe("while a list does not change", () => {
  it.each(LISTS)(
    "the pages of %s have each record once, newest first, for any page size",
    { timeout: PROPERTY_TIMEOUT_MS },
    async (list, field, time) => {
      const path = pathOf(list);
      const whole = await everyPage<Named>(clients[0], path, field, MAX_LIMIT);
      const name = field === "accounts" ? "accountNumber" : "id";
      expect(whole.length).toBeGreaterThan(1);
      expect(new Set(whole.map((record) => record[name])).size).toBe(whole.length);
      const times = whole.map((record) => Date.parse(record[time] ?? ""));
      expect(times).toEqual(times.toSorted((one, other) => other - one));

      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: Math.min(MAX_LIMIT, whole.length + 2) }),
          fc.array(fc.nat({ max: 1 }), { minLength: 1, maxLength: 7 }),
          async (limit, gateways) => {
            const totalPages = Math.ceil(whole.length / limit);
            const pages = await inFlight(totalPages + 1, IN_FLIGHT, (index) => {
              const client = clients[gateways[index % gateways.length] ?? 0] ?? clients[0];
              return onePage(client, path, field, { page: index + 1, limit });
            });
            for (const [index, { pagination }] of pages.entries()) {
              expect(pagination).toEqual({
                page: index + 1,
                limit,
                total: whole.length,
                totalPages,
                nextCursor: index + 1 < totalPages ? expect.any(String) : null,
              });
            }
            // The last requested page is past the end and empty.
            expect(pages.map(({ records }) => records.length)).toEqual([
              ...Array.from({ length: totalPages - 1 }, () => limit),
              whole.length - (totalPages - 1) * limit,
              0,
            ]);
            expect(pages.flatMap(({ records }) => records)).toEqual(whole);
          },
        ),
        bounded(RUNS),
      );
    },
  );
});
