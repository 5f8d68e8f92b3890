/**
 * Money adds up. The test deposits, withdraws, trades, disables and enables accounts, and repeats
 * requests. Afterwards the ledger and the trading server agree to the cent, and the organization's
 * wallet agrees with its usage.
 */
import { randomUUID } from "node:crypto";

import { assertDefined } from "@kapi/kernel";
import { eventually } from "@kapi/testkit";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";

import type { CommandView, EnvelopeView, OutsideClient } from "../e2e/outside-client.ts";
import { startTwoGateways, type TwoGateways } from "../e2e/system.ts";
import { TradingControl } from "../e2e/trading-control.ts";
import { everyPage } from "./pages.ts";
import { bounded } from "./settings.ts";

const RUNS = 8;
const ACCOUNTS = 3;
const MAX_STEPS = 40;
const INITIAL_CENTS = 500_000;
const PROPERTY_TIMEOUT_MS = 120_000;
const BOOKED_MS = 15_000;

let system: TwoGateways;

beforeAll(async () => {
  // Prices change often, so that trades have results.
  system = await startTwoGateways({ "trading-simulator": { TICK_INTERVAL_MS: "50" } });
});

afterAll(async () => {
  await system.stop();
});

const account = fc.nat({ max: ACCOUNTS - 1 });
const gateway = fc.nat({ max: 1 });
const cents = fc.integer({ min: 1, max: 400_000 });
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("deposit" as const), account, gateway, cents }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("withdraw" as const), account, gateway, cents }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("order" as const),
      account,
      symbol: fc.constantFrom("EURUSD", "XAUUSD", "USDJPY"),
      side: fc.constantFrom("buy", "sell"),
      hundredths: fc.integer({ min: 1, max: 60 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("close" as const), account, partly: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom("disable" as const, "enable" as const), account, gateway }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("repeat" as const), earlier: fc.nat(), gateway }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("wait" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

interface Request {
  readonly path: string;
  readonly body: object;
  readonly key: string;
  readonly commandId: string;
}

interface Transaction {
  readonly id: string;
  readonly sequence: number;
  readonly type: string;
  readonly amount: number;
  readonly balanceBefore: number;
  readonly balanceAfter: number;
  readonly commandId: string | null;
}

interface Wallet {
  readonly availableCredits: number;
  readonly reservedCredits: number;
  readonly lifetimePurchased: number;
  readonly lifetimeConsumed: number;
}

/** One organization and its requests. */
class Scenario {
  readonly clients: readonly [OutsideClient, OutsideClient];
  readonly accounts: readonly string[];
  readonly control: TradingControl;
  readonly requests: Request[] = [];
  readonly #positions: [account: number, position: string][] = [];

  constructor(clients: readonly [OutsideClient, OutsideClient], accounts: readonly string[]) {
    this.clients = clients;
    this.accounts = accounts;
    this.control = new TradingControl(clients[0].demo);
  }

  async run(step: Step): Promise<void> {
    switch (step.kind) {
      case "deposit":
        return this.#request(step, "finance/deposits", { amount: step.cents / 100 });
      case "withdraw":
        return this.#request(step, "finance/withdrawals", { amount: step.cents / 100 });
      case "disable":
      case "enable":
        return this.#request(step, step.kind, {});
      case "order": {
        const { symbol, side, hundredths } = step;
        const order = { symbol, side, orderType: "market", volume: hundredths / 100 };
        const position = await this.control.order(this.accounts[step.account] ?? "", order);
        if (position !== null) this.#positions.push([step.account, position]);
        return;
      }
      case "close": {
        const found = this.#positions.find(([owner]) => owner === step.account);
        if (found === undefined) return;
        await this.control.closeIfOpen(this.accounts[step.account] ?? "", found[1], step.partly ? 0.01 : null);
        return;
      }
      case "repeat":
        return this.#repeat(step.earlier, step.gateway);
      case "wait":
        await this.finalCommands();
    }
  }

  /** The final commands, in the order of the requests. */
  finalCommands(): Promise<CommandView[]> {
    return Promise.all(this.requests.map(({ commandId }) => this.clients[1].finished(commandId)));
  }

  async #request(step: { account: number; gateway: number }, operation: string, body: object): Promise<void> {
    const path = `/accounts/${this.accounts[step.account]}/${operation}`;
    const request = { path, body: { ...body, requestId: "money" }, key: randomUUID() };
    const { status, envelope } = await this.#send(request, step.gateway);
    expect(status).toBeOneOf([202, 200]);
    this.requests.push({ ...request, commandId: envelope.command.id });
  }

  async #repeat(earlier: number, gateway: number): Promise<void> {
    const request = this.requests[earlier % Math.max(this.requests.length, 1)];
    if (request === undefined) return;
    const { status, envelope } = await this.#send(request, gateway);
    expect(status).toBe(200);
    expect(envelope).toMatchObject({ duplicate: true, command: { id: request.commandId } });
  }

  async #send(
    { path, body, key }: Omit<Request, "commandId">,
    gateway: number,
  ): Promise<{ status: number; envelope: EnvelopeView }> {
    const client = this.clients[gateway] ?? this.clients[0];
    const { status, body: envelope } = await client.queue("POST", path, body, key);
    return { status, envelope };
  }
}

const inCents = (amount: number): number => Math.round(amount * 100);

/** An account's ledger has no gap, starts at 0 and ends at the trading server's balance. */
async function expectLedger(scenario: Scenario, account: string): Promise<Transaction[]> {
  const client = scenario.clients[1];
  return eventually(
    async () => {
      const newestFirst = await everyPage<Transaction>(
        client,
        `/accounts/${account}/transactions`,
        "transactions",
        100,
      );
      const { balanceMinor } = await scenario.control.account(account);
      const rows = newestFirst.toReversed();
      expect(rows.map(({ sequence }) => sequence)).toEqual(rows.map((_, index) => index + 1));
      let balance = 0;
      for (const row of rows) {
        expect(inCents(row.balanceBefore)).toBe(balance);
        balance += inCents(row.amount);
        expect(inCents(row.balanceAfter)).toBe(balance);
      }
      expect(balance).toBe(balanceMinor);
      expect((await client.account(account)).balance).toBe(balance / 100);
      return rows;
    },
    { timeoutMs: BOOKED_MS, intervalMs: 100 },
  );
}

/** A succeeded money request has one row with its amount; a failed one has no row. */
function expectOneRowEach(scenario: Scenario, final: readonly CommandView[], rows: readonly Transaction[]): void {
  const expected = final.flatMap((command, index) => {
    if (command.status !== "succeeded" || !command.operation.startsWith("finance.")) return [];
    const { amount } = assertDefined(scenario.requests[index], "the request of a command").body as { amount: number };
    return [[command.id, inCents(command.operation === "finance.deposit" ? amount : -amount)]];
  });
  const asked = new Set(scenario.requests.map(({ commandId }) => commandId));
  const booked = rows
    .filter(({ commandId }) => commandId !== null && asked.has(commandId))
    .map(({ commandId, amount }) => [commandId, inCents(amount)]);
  expect(booked.map(String).toSorted()).toEqual(expected.map(String).toSorted());
}

/** Purchased = available + reserved + consumed. The usage lines sum up to consumed + reserved. */
async function expectCredits(scenario: Scenario): Promise<void> {
  const [client] = scenario.clients;
  const wallet = await eventually(
    async () => {
      const { wallet } = (await client.call<{ wallet: Wallet }>("GET", "/credits/balance")).body;
      const { availableCredits, reservedCredits, lifetimePurchased, lifetimeConsumed } = wallet;
      expect(availableCredits + reservedCredits + lifetimeConsumed).toBe(lifetimePurchased);
      // All commands are final, so no credit stays reserved.
      return reservedCredits === 0 && wallet;
    },
    { timeoutMs: BOOKED_MS, intervalMs: 100 },
  );
  await eventually(async () => {
    const lines = await usageOf(client.demo.organizationId);
    const sum = lines.reduce((total, { credits }) => total + credits, 0);
    expect(sum).toBe(wallet.lifetimeConsumed + wallet.reservedCredits);
  });
}

/** Reads from the organization service, because a request to the API is billed and adds a line. */
async function usageOf(organizationId: string): Promise<{ credits: number }[]> {
  const { stack } = system;
  const lines: { credits: number }[] = [];
  for (let page = 1; ; page += 1) {
    const path = `/internal/organizations/${organizationId}/credits/usage?page=${page}&limit=100`;
    const url = stack.url("organization") + path;
    const response = await fetch(url, { headers: { "x-service-token": stack.secrets.serviceTokens.gateway } });
    const { usage } = (await response.json()) as { usage: { credits: number }[] };
    if (usage.length === 0) return lines;
    lines.push(...usage);
  }
}

it(
  "after any requests, repeated or not, the ledger has the balance of the trading server, and the wallet adds up",
  { timeout: PROPERTY_TIMEOUT_MS },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: MAX_STEPS, size: "max" }), async (steps) => {
        const clients = await system.newOrganization();
        const accounts = await Promise.all(
          Array.from({ length: ACCOUNTS }, () => clients[0].openAccount(INITIAL_CENTS / 100)),
        );
        const scenario = new Scenario(clients, accounts);
        for (const step of steps) await scenario.run(step);
        const final = await scenario.finalCommands();
        const ledgers = await Promise.all(accounts.map((account) => expectLedger(scenario, account)));
        expectOneRowEach(scenario, final, ledgers.flat());
        await expectCredits(scenario);
      }),
      bounded(RUNS),
    );
  },
);
