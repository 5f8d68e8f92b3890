/** Commands while the keys of generated passwords change. */
import { randomBytes } from "node:crypto";

import { eventually, onWrongClock } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { Harness } from "./harness.ts";

/**
 * A command fails after three attempts with unexpected errors. A fourth attempt shows that a
 * missing key does not count as such an error.
 */
const LATE_ATTEMPT = 4;
let env: Harness;
beforeAll(async () => {
  env = await Harness.create();
});
afterAll(async () => {
  await env.stop();
});

describe("a rotation of the password derivation keys", () => {
  it("between the acceptance and the execution of creations and resets keeps the passwords that were already shown", async () => {
    const account = await env.account();
    await env.restart("account.before-execute");
    const creation = await env.publishCreation();
    const reset = await env.publish(account, "account.password_reset");
    await env.died();
    const rotated = `newer:${randomBytes(32).toString("base64")},${env.stack.secrets.passwordDerivationKeys}`;
    // By the clock of the restarted process, both commands are long past their deadlines. The
    // service uses the database's clock.
    await env.restart(undefined, { PASSWORD_DERIVATION_KEYS: rotated, ...onWrongClock("ahead") });
    const created = String((await env.final(creation)).result?.["accountNumber"]);
    expect(await env.final(reset.commandId)).toMatchObject({ status: "succeeded" });
    expect(await env.login(created, env.generated(creation, "trading"))).toBe("trading");
    expect(await env.login(created, env.generated(creation, "investor"))).toBe("investor");
    expect(await env.login(account, env.generated(reset.commandId, "trading"))).toBe("trading");
  });

  it("fails no command whose key the process does not have yet; the command completes after a restart with the key", async () => {
    const account = await env.account();
    await env.restart(undefined, { PASSWORD_DERIVATION_KEYS: `other:${randomBytes(32).toString("base64")}` });
    const creation = await env.publishCreation();
    const { commandId: reset } = await env.publish(account, "account.password_reset");
    const isLate = (id: string) => env.events.some((one) => one.commandId === id && one.attempts >= LATE_ATTEMPT);
    await eventually(() => isLate(creation) && isLate(reset), { timeoutMs: 30_000 });
    await env.restart();
    const created = String((await env.final(creation)).result?.["accountNumber"]);
    await env.final(reset);
    expect(await env.login(created, env.generated(creation, "trading"))).toBe("trading");
    expect(await env.login(account, env.generated(reset, "trading"))).toBe("trading");
  });
});
