import { CommandMessage } from "@kapi/contracts";
import { commandIdOf, type Keyring, managedAccountIdOf, openPassword } from "@kapi/kernel";
import { describe, expect, it } from "vitest";

import { type CommandDraft, commandMessageOf, type PasswordKeys } from "./command-message.ts";

const SEALING: Keyring = { currentKeyId: "k1", keys: new Map([["k1", Buffer.alloc(32, 1)]]) };
const DERIVING: Keyring = { currentKeyId: "d2", keys: new Map([["d2", Buffer.alloc(32, 2)]]) };
const KEYS: PasswordKeys = { sealingKeys: SEALING, derivationKeys: DERIVING };
const ORGANIZATION_ID = "0b0f4f0e-5a4e-4c39-8a39-1d8f0a8f0a01";
const NOW_MS = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;
const CREATION = { accountName: "Ada", initialBalance: 10.5, leverage: 100 } as const;

function draft(change: Partial<CommandDraft> = {}): CommandDraft {
  return {
    commandId: commandIdOf(ORGANIZATION_ID, "key-1"),
    organizationId: ORGANIZATION_ID,
    createdBy: { type: "key", id: "mfrggzdfmztwq2lk" },
    address: "203.0.113.7",
    serverId: "0b0f4f0e-5a4e-4c39-8a39-1d8f0a8f0a02",
    accountNumber: null,
    operation: "account.create",
    idempotencyKey: "key-1",
    fingerprint: "f".repeat(64),
    body: { ...CREATION, password: "correct horse", requestId: "r-1" },
    price: 10,
    nowMs: NOW_MS,
    ...change,
  };
}

describe("the message of a command", () => {
  it("has the body without requestId and password; the password is sealed for this command", () => {
    const message = commandMessageOf(draft(), KEYS);
    expect(CommandMessage.parse(message)).toEqual(message);
    expect(message.payload).toEqual(CREATION);
    expect(message).toMatchObject({ amountMinor: 1_050 });
    expect(message).toMatchObject({ requestId: "r-1", reservedCredits: 10, createdAt: "2026-01-01T00:00:00.000Z" });
    expect(JSON.stringify(message)).not.toContain("correct horse");
    const { sealedPassword } = message;
    expect(sealedPassword && openPassword(SEALING, message.commandId, sealedPassword)).toBe("correct horse");
  });

  it("names who sent the request", () => {
    expect(commandMessageOf(draft(), KEYS).createdBy).toEqual({ type: "key", id: "mfrggzdfmztwq2lk" });
  });

  it("of a request with a management key has the caller's address only for a password reset", () => {
    const reset = draft({ operation: "account.investor_password_reset" });
    expect(commandMessageOf(reset, KEYS)).toMatchObject({ callerAddress: "203.0.113.7" });
    expect(commandMessageOf(draft(), KEYS)).not.toHaveProperty("callerAddress");
  });

  it("of a creation has the managed account id; the message for an existing account has null", () => {
    expect(commandMessageOf(draft(), KEYS).managedAccountId).toBe(managedAccountIdOf(draft().commandId));
    const deposit = draft({
      operation: "finance.deposit",
      accountNumber: "10000001",
      body: { requestId: "r", amount: 0.3 },
    });
    expect(commandMessageOf(deposit, KEYS)).toMatchObject({
      managedAccountId: null,
      sealedPassword: null,
      payload: { amount: 0.3 },
      amountMinor: 30,
    });
  });

  it.each([
    ["account.create", CREATION, "d2"],
    ["account.create", { ...CREATION, password: "correct horse" }, "d2"],
    ["account.password_reset", {}, "d2"],
    ["account.password_reset", { password: "correct horse" }, null],
    ["account.investor_password_reset", {}, "d2"],
    ["finance.deposit", { amount: 1 }, null],
  ] as const)("of %s with %j names the derivation key %j", (operation, supplied, keyId) => {
    const message = commandMessageOf(draft({ operation, body: { requestId: "r", ...supplied } }), KEYS);
    expect(message.derivationKeyId).toBe(keyId);
  });

  it.each([
    ["account.create", CREATION, 15],
    ["finance.withdraw", { amount: 1 }, 15],
    ["account.history_export", { limit: 10 }, 60],
  ] as const)("of %s with %j has a deadline after %i minutes", (operation, payload, minutes) => {
    const message = commandMessageOf(draft({ operation, body: { requestId: "r", ...payload } }), KEYS);
    expect(Date.parse(message.deadlineAt) - NOW_MS).toBe(minutes * MINUTE_MS);
  });
});
