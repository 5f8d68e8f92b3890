import { expect, it } from "vitest";
import { z } from "zod";

import { COMMANDS } from "../commands.ts";
import { COMMAND_OPERATIONS, type CommandOperation } from "../http/commands.ts";
import { CommandMessage, moneyOf } from "./command-message.ts";

const HEADER = {
  commandId: "2a1b7f4e-6a43-4f83-8d0f-3a2c6f0d9a11",
  organizationId: "0b0f4f0e-5a4e-4c39-8a39-1d8f0a8f0a01",
  serverId: "6f1d0c1e-52b4-4a8e-9d0a-1f0e3f2a7c11",
  accountNumber: "10000001",
  managedAccountId: null,
  requestId: "r-1",
  idempotencyKey: "key-1",
  fingerprint: "f".repeat(64),
  sealedPassword: null,
  derivationKeyId: null,
  reservedCredits: 5,
  createdAt: "2026-01-01T00:00:00.000Z",
  deadlineAt: "2026-01-01T00:15:00.000Z",
};
const CREATION = { accountName: "Ada", initialBalance: 10.5, leverage: 100 };

/** A message of release 0.1.0, which has money only in units of currency. */
const former = (operation: CommandOperation, payload: Record<string, unknown>) => ({ ...HEADER, operation, payload });

/** A payload of each operation. */
const PAYLOADS: Readonly<Record<CommandOperation, Record<string, unknown>>> = {
  "account.create": CREATION,
  "account.update": { leverage: 50 },
  "account.enable": {},
  "account.disable": {},
  "account.archive": {},
  "account.delete": {},
  "account.flatten": {},
  "account.close_only": {},
  "account.password_reset": {},
  "account.investor_password_reset": {},
  "account.history_export": { limit: 10 },
  "finance.deposit": { amount: 100.25, description: "first" },
  "finance.withdraw": { amount: 0.01 },
  "risk.set_rules": {
    rules: [{ id: "max", type: "maxLoss", limit: { percent: 10 }, action: "notify" }],
  },
  "risk.delete_rules": { useTemplate: true },
  "risk.set_template": {
    name: "phase-1",
    rules: [{ id: "max", type: "maxLoss", limit: { percent: 10 }, action: "notify" }],
    appliesTo: { status: ["active"], nameStartsWith: "Phase 1" },
    newAccounts: true,
  },
  "risk.delete_template": { name: "phase-1", accountRules: "keep" },
};

it.each(COMMAND_OPERATIONS)("a message of %s is parsed with the payload of its row in COMMANDS", (operation) => {
  const message = former(operation, PAYLOADS[operation]);
  const amountMinor = moneyOf(operation, PAYLOADS[operation]);
  expect(amountMinor === null).toBe(COMMANDS[operation].money === null);
  expect(CommandMessage.parse(message)).toEqual(amountMinor === null ? message : { ...message, amountMinor });
});

it.each([
  [0.01, 1],
  [0.1 + 0.2, 30],
  [1.000_000_1, 100],
  [1.005 * 100, 10_050],
  [8_388_607.29, 838_860_729],
  [999_999_999.99, 99_999_999_999],
  [1_000_000_000, 100_000_000_000],
])(
  "the amount %f of release 0.1.0 is read as %i minor units, and the payload stays unchanged",
  (amount, amountMinor) => {
    const message = former("finance.withdraw", { amount });
    expect(CommandMessage.parse(message)).toEqual({ ...message, amountMinor });
    const creation = former("account.create", { ...CREATION, initialBalance: amount });
    expect(CommandMessage.parse(creation)).toEqual({ ...creation, amountMinor });
  },
);

it("many amounts from 0.01 to 1,000,000,000, in messages of release 0.1.0, are read to the exact cent", () => {
  for (let cents = 1; cents < 100_000_000_000; cents += 9_999_991) {
    const { payload, ...rest } = CommandMessage.parse(former("finance.deposit", { amount: cents / 100 }));
    expect("amountMinor" in rest ? rest.amountMinor : payload).toBe(cents);
  }
});

it("a message with minor units is parsed unchanged, and release 0.1.0 reads the same amount from it", () => {
  const message = { ...former("finance.deposit", { amount: 1_234.56 }), amountMinor: 123_456 };
  expect(CommandMessage.parse(message)).toEqual(message);
  const earlierReader = z.object({ operation: z.string(), payload: z.record(z.string(), z.unknown()) });
  expect(earlierReader.parse(message).payload).toEqual({ amount: 1_234.56 });
});

it.each([
  ["no amount", former("finance.deposit", { description: "first" })],
  ["an amount that is no number", former("finance.deposit", { amount: "a lot" })],
  ["parts of a cent", former("finance.deposit", { amount: 0.001 })],
  ["two amounts that differ", { ...former("finance.deposit", { amount: 1 }), amountMinor: 10_000 }],
  ["minor units that are no integer", { ...former("finance.deposit", { amount: 1 }), amountMinor: 100.5 }],
  ["a creation without a balance", former("account.create", { accountName: "Ada", leverage: 100 })],
])("a message with %s cannot be read", (_what, message) => {
  expect(CommandMessage.safeParse(message).success).toBe(false);
});
