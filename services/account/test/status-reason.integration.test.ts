import { randomUUID } from "node:crypto";

import { afterAll, beforeAll, expect, it } from "vitest";

import { Harness } from "./harness.ts";

let env: Harness;
beforeAll(async () => {
  env = await Harness.create();
});
afterAll(async () => {
  await env.stop();
});

it("if a breach of a risk rule changes the status, the status has a reason; the next change of the status clears the reason", async () => {
  const account = await env.account();
  const breach = randomUUID();
  const reason = async (): Promise<unknown> => (await env.details(account)).body.account.statusReason;
  const createdBy = { type: "system", id: "risk" } as const;
  await env.run(account, "account.disable", { createdBy, requestId: breach });
  expect(await reason()).toBe(`A risk rule was breached: breach ${breach}`);
  // Nothing changes, so the reason is still that of the breach.
  await env.run(account, "account.disable");
  expect(await reason()).toContain(breach);
  await env.run(account, "account.update", { payload: { leverage: 50 } });
  expect(await reason()).toContain(breach);
  await env.run(account, "account.enable");
  expect(await reason()).toBeNull();
  // A status that a caller sets has no reason.
  await env.run(account, "account.disable");
  expect(await reason()).toBeNull();
});
