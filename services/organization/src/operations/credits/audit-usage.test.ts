import type { CommandEvent } from "@kapi/contracts";
import type { UsageEntry } from "@kapi/admission/redis";
import { describe, expect, it } from "vitest";

import { auditedCommandsOf, keyUsesOf } from "./audit-usage.ts";

const ID = "3b1f6a52-8c0d-5e77-b6a1-2f9d4c8e7a10";
const ADDRESS = "203.0.113.7";
const AT = "2026-03-02T10:05:00.000Z";

function used(createdBy: UsageEntry["createdBy"], atMs: number, kind: UsageEntry["kind"] = "consume"): UsageEntry {
  const request = { operation: "getCommand", requestId: "r", credits: 1, commandId: null };
  return {
    ...request,
    entryId: `${atMs}-0`,
    chargeId: ID,
    kind,
    organizationId: ID,
    atMs,
    createdBy,
    address: ADDRESS,
  };
}

const key = (id: string) => ({ type: "key", id }) as const;

describe("the uses of keys among usage entries", () => {
  it("are the oldest request of each key", () => {
    const entries = [used(key("a"), 7), used(key("b"), 5), used(key("a"), 3, "reserve"), used(key("a"), 9)];
    expect(keyUsesOf(entries)).toEqual([
      { keyId: "a", atMs: 3, address: ADDRESS },
      { keyId: "b", atMs: 5, address: ADDRESS },
    ]);
  });

  it("exclude refunds, releases, requests of people, and entries of release 0.1.0", () => {
    const person = { type: "user", id: ID } as const;
    const entries = [used(key("a"), 1, "refund"), used(key("a"), 2, "release"), used(person, 3), used(null, 4)];
    expect(keyUsesOf(entries)).toEqual([]);
  });
});

function ended(change: Partial<CommandEvent>): CommandEvent {
  return {
    commandId: ID,
    organizationId: ID,
    serverId: ID,
    accountNumber: "10000042",
    managedAccountId: null,
    operation: "account.password_reset",
    version: 1,
    status: "succeeded",
    attempts: 1,
    result: { changedAt: AT },
    errorCode: null,
    errorMessage: null,
    settlement: null,
    occurredAt: AT,
    createdBy: { type: "key", id: "mfrggzdfmztwq2lk" },
    callerAddress: ADDRESS,
    ...change,
  };
}

describe("the password resets among events of commands", () => {
  it("name actor, address, account and outcome", () => {
    expect(auditedCommandsOf([ended({})])).toMatchObject([
      {
        action: "account.password_reset",
        actor: { type: "key", id: "mfrggzdfmztwq2lk" },
        address: ADDRESS,
        subject: { type: "account", id: `${ID}/10000042` },
        details: { commandId: ID, status: "succeeded", errorCode: null },
        atMs: Date.parse(AT),
      },
    ]);
    const failed = ended({ operation: "account.investor_password_reset", status: "failed" });
    expect(auditedCommandsOf([failed])).toMatchObject([
      { action: "account.investor_password_reset", details: { status: "failed" } },
    ]);
  });

  it("have the same event id for a repeated event, and no actor in events of release 0.1.0", () => {
    const { createdBy: _actor, callerAddress: _address, ...earlier } = ended({});
    const [first, again] = auditedCommandsOf([ended({}), earlier]);
    expect(again).toMatchObject({ eventId: first?.eventId, actor: null, address: null });
  });

  it("exclude other commands of keys, and commands that are not final", () => {
    expect(auditedCommandsOf([ended({ operation: "finance.deposit" }), ended({ status: "leased" })])).toEqual([]);
  });
});

describe("the commands of people among events of commands", () => {
  const person = { type: "user", id: ID } as const;

  it("name the person, the account, the outcome and what was booked", () => {
    const result = { transactionId: ID, balanceAfter: 1100.5 };
    const deposit = ended({ operation: "finance.deposit", createdBy: person, result });
    expect(auditedCommandsOf([deposit])).toMatchObject([
      {
        action: "finance.deposit",
        actor: person,
        address: ADDRESS,
        subject: { type: "account", id: `${ID}/10000042` },
        details: { commandId: ID, status: "succeeded", errorCode: null, transactionId: ID, balanceAfter: 1100.5 },
      },
    ]);
  });

  it("name the server if they change a risk template, and include failed commands", () => {
    const change = { operation: "risk.set_template", createdBy: person, accountNumber: null } as const;
    expect(
      auditedCommandsOf([ended({ ...change, status: "failed", result: null, errorCode: "INTERNAL" })]),
    ).toMatchObject([{ subject: { type: "server", id: ID }, details: { status: "failed", errorCode: "INTERNAL" } }]);
  });
});

it.each([
  "finance.deposit",
  "finance.withdraw",
  "account.disable",
  "account.enable",
  "account.close_only",
  "account.flatten",
  "account.archive",
  "account.password_reset",
  "account.investor_password_reset",
  "risk.set_rules",
  "risk.delete_rules",
  "risk.set_template",
  "risk.delete_template",
] as const)("the command %s of a person is audited, whatever its outcome", (operation) => {
  for (const status of ["succeeded", "failed", "expired"] as const) {
    const event = ended({ operation, status, createdBy: { type: "user", id: ID } });
    expect(auditedCommandsOf([event])).toMatchObject([{ action: operation, actor: { id: ID }, details: { status } }]);
  }
});
