import { describe, expect, it } from "vitest";

import { deletionsIn } from "./account-deletions.ts";

const SERVER_ID = "0b0f4f0e-5a4e-4c39-8a39-1d8f0a8f0a01";

const event = (type: string, members: Readonly<Record<string, unknown>> = {}): { value: Buffer } => ({
  value: Buffer.from(JSON.stringify({ type, serverId: SERVER_ID, accountNumber: "10000001", ...members })),
});

describe("of the events of accounts", () => {
  it("deletions are found, and nothing else, whatever an account is called", () => {
    const events = [
      event("account.created", { accountName: "account.deleted" }),
      event("position.closed"),
      event("account.deleted", { accountNumber: "10000002" }),
      event("account.updated", { accountName: '"account.deleted"' }),
      { value: Buffer.from("no event at all") },
    ];
    expect(deletionsIn(events)).toEqual([{ type: "account.deleted", serverId: SERVER_ID, accountNumber: "10000002" }]);
  });

  it("a deletion that names no account is an error: its account would be remembered for good", () => {
    expect(() => deletionsIn([event("account.deleted", { accountNumber: null })])).toThrow("accountNumber");
  });
});
