/** The sign-in by OpenID Connect, with a real provider on this machine. */
import { randomUUID } from "node:crypto";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { appCode } from "./authenticator.ts";
import { type Browser, type ConsoleHarness, PASSWORD, startConsoleHarness } from "./harness.ts";
import { CLIENT, startIdentityProvider, type TestProvider } from "./identity-provider.ts";

const PUBLIC_URL = "https://console.example.com";
const CALLBACK = `${PUBLIC_URL}/console/api/sign-in/provider/callback`;

let provider: TestProvider;
let harness: ConsoleHarness;
beforeAll(async () => {
  provider = await startIdentityProvider(CALLBACK);
  harness = await startConsoleHarness({
    CONSOLE_PUBLIC_URL: PUBLIC_URL,
    CONSOLE_OIDC_ISSUER: provider.issuer,
    CONSOLE_OIDC_CLIENT_ID: CLIENT.id,
    CONSOLE_OIDC_CLIENT_SECRET: CLIENT.secret,
    CONSOLE_OIDC_NAME: "Example Login",
  });
});
afterAll(async () => {
  await harness.stop();
  await provider.stop();
});

/** Begins a sign-in; returns the address of the console to which the provider redirects. */
async function atProvider(browser: Browser): Promise<string> {
  const begun = await browser.open("GET", "/console/api/sign-in/provider");
  expect(begun.status).toBe(302);
  browser.keepCookies(begun);
  return provider.follow(begun.headers.get("location") ?? "");
}

/** Opens the address to which the provider redirects; returns where the console redirects. */
async function comeBack(browser: Browser, address: string): Promise<string | null> {
  const { pathname, search } = new URL(address);
  const answer = await browser.open("GET", pathname + search);
  browser.keepCookies(answer);
  return answer.headers.get("location");
}

describe("the sign-in by OpenID Connect", () => {
  it("signs in a user with the verified e-mail address, in any letter case", async () => {
    const person = await harness.person();
    const browser = harness.browser();
    expect((await browser.ask("GET", "/sign-in")).body).toMatchObject({ provider: { name: "Example Login" } });
    provider.signIn({ email: person.email.toUpperCase(), isVerified: true });
    const address = await atProvider(browser);
    expect(await comeBack(browser, address)).toBe("/console/");
    expect((await browser.ask("GET", "/session")).body).toMatchObject({ user: { email: person.email } });
    // The console accepts an answer of the provider only one time.
    expect(await comeBack(browser, address)).toBe("/console/?sign-in=expired");
  });

  it("rejects an unknown e-mail address, an address that the provider has not verified, and a disabled user", async () => {
    const person = await harness.person();
    for (const identity of [
      { email: `${randomUUID()}@example.com`, isVerified: true },
      { email: person.email, isVerified: false },
    ]) {
      const browser = harness.browser();
      provider.signIn(identity);
      expect(await comeBack(browser, await atProvider(browser))).toBe("/console/?sign-in=unknown");
      expect(browser.cookie).toBeNull();
    }
    await harness.client.request("DELETE", `/internal/users/${person.userId}`);
    const browser = harness.browser();
    provider.signIn({ email: person.email, isVerified: true });
    expect(await comeBack(browser, await atProvider(browser))).toBe("/console/?sign-in=unknown");
  });

  it("works only in the browser that began it, and rejects an answer of the provider with another `state`", async () => {
    const person = await harness.person();
    provider.signIn({ email: person.email, isVerified: true });
    const [victim, attacker] = [harness.browser(), harness.browser()];
    const address = await atProvider(attacker);
    expect(await comeBack(victim, address)).toBe("/console/?sign-in=expired");
    const changed = new URL(address);
    changed.searchParams.set("state", "another");
    expect(await comeBack(attacker, changed.href)).toBe("/console/?sign-in=failed");
    expect([victim.cookie, attacker.cookie]).toEqual([null, null]);
  });

  it("asks for the second factor of a person who has one", async () => {
    const person = await harness.person();
    const owner = await harness.signedIn(person);
    const { body } = await owner.ask("POST", "/two-factor", { currentPassword: PASSWORD });
    const { secret } = body as { secret: string };
    await owner.ask("POST", "/two-factor/confirm", { code: appCode(secret) });
    provider.signIn({ email: person.email, isVerified: true });
    const browser = harness.browser();
    expect(await comeBack(browser, await atProvider(browser))).toBe("/console/");
    expect((await browser.ask("GET", "/session")).status).toBe(401);
    const code = appCode(secret, 1);
    expect((await browser.ask("POST", "/session/second-factor", { code })).status).toBe(200);
    expect((await browser.ask("GET", "/session")).status).toBe(200);
  });
});
