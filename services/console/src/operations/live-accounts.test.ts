import { expect, it } from "vitest";

import { LiveAccounts } from "./live-accounts.ts";

const ACCOUNT = { serverId: "a server", accountNumber: "1001" };
const SESSION = { sessionHash: "a session", userId: "a user", sessionVersion: 1 };

it("a process that stops ends its streams and opens no new stream", () => {
  const samples = { latest: () => Promise.resolve([null]) };
  const live = new LiveAccounts({ samples } as unknown as ConstructorParameters<typeof LiveAccounts>[0]);
  const ends: string[] = [];
  const sink = { sample: () => undefined, end: (reason: string) => ends.push(reason) };
  live.watch(SESSION, ACCOUNT, sink);
  live.endAll();
  expect(ends).toEqual(["restart"]);
  expect(() => live.watch(SESSION, ACCOUNT, sink)).toThrow(
    expect.objectContaining({ code: "DEPENDENCY_UNAVAILABLE", headers: { "retry-after": "1" } }) as Error,
  );
});
