import { describe, expect, it } from "vitest";

import { deletionsIn } from "./account-deletions.ts";

const SERVER_ID = "0b0f4f0e-5a4e-4c39-8a39-1d8f0a8f0a01";

const event = (type: string, members: Readonly<Record<string, unknown>> = {}): { value: Buffer } => ({
  value: Buffer.from(JSON.stringify({ type, serverId: SERVER_ID, accountNumber: "10000001", ...members })),
});

describe("deletionsIn", () => {
  it("returns only deletions, and no other event in which the name of the account is account.deleted", () => {
    const events = [
      event("account.created", { accountName: "account.deleted" }),
      event("position.closed"),
      event("account.deleted", { accountNumber: "10000002" }),
      event("account.updated", { accountName: '"account.deleted"' }),
      { value: Buffer.from("malformed JSON") },
    ];
    expect(deletionsIn(events)).toEqual([{ type: "account.deleted", serverId: SERVER_ID, accountNumber: "10000002" }]);
  });

  it("throws for a deletion without an account number: the account would stay in the cache", () => {
    expect(() => deletionsIn([event("account.deleted", { accountNumber: null })])).toThrow("accountNumber");
  });
});
