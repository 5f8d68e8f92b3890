/** Risk rules, as an organization's backend uses them. */
import { fetchEvidenceKeys, Kapi } from "@kapi/client";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { OutsideClient } from "./outside-client.ts";
import { type RunningSystem, startSystem } from "./system.ts";
import { TradingControl } from "./trading-control.ts";

interface Breach {
  readonly id: string;
  readonly rule: { readonly id: string };
  readonly period: string;
  readonly reference: number;
  readonly threshold: number;
  readonly value: number;
  readonly action: string;
  readonly commandId: string | null;
}

const MAX_LOSS = { id: "max", type: "maxLoss", limit: { percent: 10 }, action: "disable" };
const HIGH_LEVERAGE = 500;
/** A position of one lot of EURUSD loses this many dollars if the price falls by 1. */
const CONTRACT_SIZE = 100_000;
const BREACH_TIMEOUT_MS = 20_000;

let system: RunningSystem;
let client: OutsideClient;
let control: TradingControl;

beforeAll(async () => {
  system = await startSystem();
  client = new OutsideClient(system.demo);
  control = new TradingControl(system.demo);
});

afterAll(() => system.stop());

async function setRules(accountNumber: string, rules: readonly object[]): Promise<Readonly<Record<string, unknown>>> {
  const body = { rules, requestId: "rules" };
  const { status, body: queued } = await client.queue("PUT", `/accounts/${accountNumber}/risk-rules`, body);
  expect(status, JSON.stringify(queued)).toBe(202);
  return (await client.succeeded(queued.command.id)).result ?? {};
}

async function breachesOf(accountNumber: string): Promise<readonly Breach[]> {
  const path = client.server(`/accounts/${accountNumber}/breaches`);
  const { status, body } = await client.call<{ breaches: readonly Breach[] }>("GET", path);
  expect(status).toBe(200);
  return body.breaches;
}

/**
 * Opens a position of one lot, and lowers the price so that the position loses about `loss`
 * dollars.
 */
async function lose(accountNumber: string, loss: number): Promise<void> {
  const { bid, ask } = await control.price("EURUSD");
  await control.holdPrice("EURUSD", bid, ask);
  await control.buy(accountNumber, "EURUSD", 1);
  const by = loss / CONTRACT_SIZE;
  await control.holdPrice("EURUSD", bid - by, ask - by);
}

describe("a maximum loss with the action disable", () => {
  it("disables the account, and the reason of its status names the breach", async () => {
    const accountNumber = await client.openAccount(10_000, HIGH_LEVERAGE);
    expect(await setRules(accountNumber, [MAX_LOSS])).toMatchObject({ version: 1 });
    await lose(accountNumber, 1_200);
    await eventually(async () => expect(await breachesOf(accountNumber)).toHaveLength(1), {
      timeoutMs: BREACH_TIMEOUT_MS,
    });
    const [breach] = await breachesOf(accountNumber);
    expect(breach).toMatchObject({ rule: MAX_LOSS, period: "lifetime", reference: 10_000, threshold: 9_000 });
    expect(breach?.value).toBeLessThanOrEqual(9_000);
    const command = await client.succeeded(breach?.commandId ?? "");
    expect(command).toMatchObject({ operation: "account.disable", result: { status: "disabled", changed: true } });
    const { status, statusReason } = await client.account(accountNumber);
    expect(status).toBe("disabled");
    expect(statusReason).toBe(`A risk rule was breached: breach ${String(breach?.id)}`);
  });
});

it("rules are set, read and removed with the client, with money as decimal strings", async () => {
  const { managementKey, baseUrl, wsBase, serverId } = system.demo;
  const kapi = new Kapi({ key: managementKey, baseUrl, liveUrl: wsBase });
  const account = kapi.server(serverId).account(await client.openAccount(10_000, HIGH_LEVERAGE));
  expect(await account.riskRules()).toMatchObject({ version: 0, rules: [], commandId: null });
  const rules = [
    { id: "floor", type: "maxLoss", limit: { amount: "2500.50" }, action: "notify" },
    {
      id: "day",
      type: "dailyLoss",
      limit: { percent: 5 },
      basis: "higher",
      timeZone: "Europe/Prague",
      action: "disable",
    },
  ] as const;
  const set = await account.setRiskRules(rules, { key: `rules-${account.accountNumber}` });
  expect(await set.result()).toMatchObject({ version: 1 });
  const shown = await account.riskRules();
  expect(shown).toMatchObject({ version: 1, rules: [rules[0], { ...rules[1], dayStart: "00:00" }], commandId: set.id });
  const removed = await account.deleteRiskRules({ key: `no-rules-${account.accountNumber}` });
  expect(await removed.result()).toMatchObject({ version: 2 });
  expect((await account.riskRules()).rules).toEqual([]);
  expect(await account.breaches().toArray()).toEqual([]);
});

it("the public keys of evidence are published to everybody, and no private key", async () => {
  const published = await fetchEvidenceKeys({ baseUrl: system.demo.baseUrl });
  expect(published.keys).toEqual([
    {
      keyId: "k1",
      algorithm: "Ed25519",
      publicKey: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/) as string,
      pem: expect.stringMatching(/^-----BEGIN PUBLIC KEY-----/) as string,
      retiredAt: null,
    },
  ]);
});
