import { createHash } from "node:crypto";

import { CreateTradingAccountBody, FundsBody, SetRiskRulesBody } from "@kapi/contracts";
import { commandMessage } from "@kapi/testkit";
import { describe, expect, it } from "vitest";

import {
  EARLIER_RESET_REPEATABLE_MS,
  earlierFingerprintOf,
  equalFingerprint,
  type FingerprintInput,
  fingerprintOf,
} from "./fingerprint.ts";

const KEY = Buffer.alloc(32, 7);
const REQUEST: FingerprintInput = {
  operation: "account.create",
  path: "/api/v1/management/servers/6f1d0c1e-52b4-4a8e-9d0a-1f0e3f2a7c11/accounts",
  body: { accountName: "Ada", initialBalance: 100, leverage: 100, requestId: "r-1" },
  actor: { type: "key", id: "a".repeat(16) },
};
const OTHER_KEY = { type: "key", id: "b".repeat(16) } as const;
const RESETS = ["account.password_reset", "account.investor_password_reset"] as const;

/** A body of setRiskRules with one rule. */
const rulesWith = (fields: Readonly<Record<string, unknown>>) =>
  SetRiskRulesBody.parse({ rules: [{ id: "max", type: "maxLoss", action: "notify", ...fields }], requestId: "r-1" });

const of = (change: Partial<FingerprintInput> = {}, body: Record<string, unknown> = {}): string =>
  fingerprintOf({ ...REQUEST, ...change, body: { ...REQUEST.body, ...body } }, KEY);

describe("the fingerprint of a request", () => {
  it("is the same for any requestId and any order of fields", () => {
    expect(of()).toMatch(/^[0-9a-f]{64}$/);
    expect(of({}, { requestId: "r-2" })).toBe(of());
    const body = Object.fromEntries(Object.entries(REQUEST.body).reverse());
    expect(fingerprintOf({ ...REQUEST, body }, KEY)).toBe(of());
  });

  it.each([
    ["another operation", of({ operation: "account.update" })],
    ["another path", of({ path: `${REQUEST.path}/bulk` })],
    ["another value", of({}, { leverage: 200 })],
    ["one more field", of({}, { password: "correct horse" })],
  ])("differs for %s", (_what, other) => {
    expect(other).not.toBe(of());
  });

  it("differs between passwords, and depends on the key of the hash", () => {
    const one = of({}, { password: "correct horse" });
    expect(one).not.toBe(of({}, { password: "battery staple" }));
    const otherKey = fingerprintOf(
      { ...REQUEST, body: { ...REQUEST.body, password: "correct horse" } },
      Buffer.alloc(32, 8),
    );
    expect(otherKey).not.toBe(one);
  });

  it.each(RESETS)(
    "for %s differs between two management keys, and between a key and a person, with and without a supplied password",
    (operation) => {
      for (const body of [{}, { password: "correct horse" }]) {
        const person = { type: "user", id: "a".repeat(16) } as const;
        const all = [REQUEST.actor, OTHER_KEY, person].map((actor) => of({ operation, actor }, body));
        expect(new Set(all).size).toBe(all.length);
      }
      expect(of({ operation })).toBe(of({ operation }));
    },
  );

  it("for other operations is the same for every key of the organization", () => {
    for (const { operation } of [REQUEST, { operation: "finance.deposit" as const }]) {
      expect(of({ operation, actor: OTHER_KEY })).toBe(of({ operation }));
    }
  });

  it.each(["0.01", "0.3", "250.55", "12345.67", "999999999.99", "1e9"])(
    "with the amount %s is that of release 0.1.0, so that a repeat after an upgrade is equal",
    (amount) => {
      const body = FundsBody.parse({ amount: Number(amount), requestId: "r-1" });
      const deposit = { ...REQUEST, operation: "finance.deposit", path: "/deposits", body } as const;
      const earlier = `finance.deposit\n/deposits\n{"amount":${Number(amount)}}`;
      expect(fingerprintOf(deposit, KEY)).toBe(createHash("sha256").update(earlier).digest("hex"));
    },
  );

  it.each([
    ["an amount", (value: number) => FundsBody.parse({ amount: value, requestId: "r-1" })],
    [
      "an initial balance",
      (value: number) =>
        CreateTradingAccountBody.parse({ accountName: "Ada", leverage: 1, requestId: "r-1", initialBalance: value }),
    ],
    ["a limit of risk", (value: number) => rulesWith({ limit: { amount: value } })],
    ["a percentage of risk", (value: number) => rulesWith({ limit: { percent: value } })],
    ["a start value of risk", (value: number) => rulesWith({ limit: { percent: 1 }, startValue: value })],
  ])("with %s of 0.1 + 0.2 is the same as with 0.3", (_what, bodyOf) => {
    const sum = bodyOf(0.1 + 0.2);
    expect(JSON.stringify(sum)).toBe(JSON.stringify(bodyOf(0.3)));
    expect(fingerprintOf({ ...REQUEST, body: sum }, KEY)).toBe(fingerprintOf({ ...REQUEST, body: bodyOf(0.3) }, KEY));
    expect(() => bodyOf(1.000_000_1)).toThrow("decimals");
  });

  it("of release 0.1.0 is the same for every management key; `earlierFingerprintOf` returns it for password resets, and null for other operations", () => {
    const earlier = (change: Partial<FingerprintInput>): string | null =>
      earlierFingerprintOf({ ...REQUEST, ...change }, KEY);
    expect(earlier({})).toBeNull();
    for (const operation of RESETS) {
      expect(earlier({ operation, actor: OTHER_KEY })).toBe(earlier({ operation }));
      expect(earlier({ operation })).not.toBe(of({ operation }));
    }
    const reset = { operation: RESETS[0], path: "/accounts/10000001/password-reset", body: { requestId: "r-1" } };
    const fingerprint = createHash("sha256").update(`${reset.operation}\n${reset.path}\n{}`).digest("hex");
    expect(earlier(reset)).toBe(fingerprint);
  });
});

it("`equalFingerprint` accepts the current fingerprint at any age of the command, and the fingerprint of release 0.1.0 for an hour", () => {
  const message = commandMessage({ operation: "account.password_reset" });
  const earlierFingerprint = "e".repeat(64);
  const proposed = { message, earlierFingerprint };
  const nowMs = Date.parse("2026-01-01T05:00:00.000Z");
  const aged = (ageMs: number): string => new Date(nowMs - ageMs).toISOString();
  for (const ageMs of [0, EARLIER_RESET_REPEATABLE_MS, 100 * EARLIER_RESET_REPEATABLE_MS]) {
    expect(equalFingerprint(proposed, message.fingerprint, aged(ageMs), nowMs)).toBe(message.fingerprint);
    expect(equalFingerprint(proposed, "d".repeat(64), aged(ageMs), nowMs)).toBeNull();
  }
  const ofEarlier = (ageMs: number): string | null =>
    equalFingerprint(proposed, earlierFingerprint, aged(ageMs), nowMs);
  expect(ofEarlier(EARLIER_RESET_REPEATABLE_MS - 1)).toBe(earlierFingerprint);
  expect(ofEarlier(EARLIER_RESET_REPEATABLE_MS)).toBeNull();
  expect(equalFingerprint({ message, earlierFingerprint: null }, earlierFingerprint, aged(0), nowMs)).toBeNull();
});
