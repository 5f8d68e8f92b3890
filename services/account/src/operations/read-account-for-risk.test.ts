import { expect, it } from "vitest";

import type { Account } from "../domain/account.ts";
import { readAccountForRisk } from "./read-account-for-risk.ts";

const ACCOUNT = { serverId: "01890000-0000-7000-8000-000000000001", accountNumber: "10000001" };
const stored: Partial<Account> = { id: "an account", status: "active", activatedAt: new Date() };
/** The stored account is known, and its trading server does not answer. */
const dependencies = {
  reader: { account: () => Promise.resolve(stored as Account) },
  valuations: { current: () => Promise.reject(new Error("the trading server does not answer")) },
};

it("a read that does not ask for current values succeeds although the trading server does not answer", async () => {
  const account = await readAccountForRisk(dependencies, ACCOUNT, { valuation: "none" });
  expect(account).toMatchObject({ accountId: "an account", status: "active", valuation: null });
});

it("a read that asks for current values fails while the trading server does not answer", async () => {
  const read = readAccountForRisk(dependencies, ACCOUNT, { valuation: "current" });
  await expect(read).rejects.toThrow("the trading server does not answer");
});
