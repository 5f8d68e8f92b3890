/** Two-factor authentication: setting it up, signing in with it, and losing it. */
import { setTimeout } from "node:timers/promises";

import type { SealedPassword } from "@kapi/kernel";
import { createLogger, type Started } from "@kapi/runtime";
import { type Database, type Queryable, startPool, statement } from "@kapi/postgres";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { createSecondFactors } from "../src/outbound/postgres/second-factors.ts";
import { appCode } from "./authenticator.ts";
import { type Browser, type ConsoleHarness, type ConsoleUser, PASSWORD, startConsoleHarness } from "./harness.ts";

let harness: ConsoleHarness;
let database: Started<Database>;
beforeAll(async () => {
  harness = await startConsoleHarness();
  database = await startPool({
    connectionString: harness.environment.postgresUrl,
    schema: "console",
    applicationName: "test",
    logger: createLogger({ service: "test", level: "silent" }),
  });
});
afterAll(async () => {
  await database.stop();
  await harness.stop();
});

interface Enrolled {
  readonly browser: Browser;
  readonly secret: string;
  readonly codes: readonly string[];
}

/**
 * Sets up two-factor authentication, with the code of the previous time step. Each code works once:
 * the test can still use the code of the current step.
 */
async function enrol(person: ConsoleUser): Promise<Enrolled> {
  const browser = await harness.signedIn(person);
  const begun = await browser.ask("POST", "/two-factor", { currentPassword: PASSWORD });
  expect(begun.status).toBe(200);
  const { secret } = begun.body as { secret: string };
  const confirmed = await browser.ask("POST", "/two-factor/confirm", { code: appCode(secret, -1) });
  expect(confirmed.status).toBe(200);
  return { browser, secret, codes: confirmed.body["recoveryCodes"] as string[] };
}

const CODES = statement<{ total: number }>(
  "test_count_codes",
  "select count(*) as total from recovery_codes where user_id = $1",
);
const LOCK_FACTOR = statement<{ user_id: string }>(
  "test_lock_factor",
  "select user_id from second_factors where user_id = $1 for update",
);
const WAITING = statement<{ total: number }>(
  "test_count_waiting",
  `select count(*) as total from pg_stat_activity
   where datname = current_database() and wait_event_type = 'Lock' and query like '%from second_factors%'`,
);

const complete = (browser: Browser, code: string) => browser.ask("POST", "/session/second-factor", { code });

describe("two-factor authentication", () => {
  it("is set up with the password and a code of the authenticator app; the secret and the recovery codes are not stored in plain text", async () => {
    const person = await harness.person();
    const browser = await harness.signedIn(person);
    const wrong = await browser.ask("POST", "/two-factor", { currentPassword: "not my password" });
    expect(wrong).toMatchObject({ status: 400, body: { issues: [{ path: ["currentPassword"] }] } });
    const begun = await browser.ask("POST", "/two-factor", { currentPassword: PASSWORD });
    const { secret, uri, qr } = begun.body as { secret: string; uri: string; qr: string };
    expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    expect(uri).toContain(`secret=${secret}`);
    expect(qr).toMatch(/^data:image\/svg\+xml;base64,/);
    // Before the secret is confirmed, the sign-in asks for no code.
    expect((await harness.browser().signIn(person.email, PASSWORD)).status).toBe(200);
    expect((await browser.ask("POST", "/two-factor/confirm", { code: "000000" })).status).toBe(400);
    const { body } = await browser.ask("POST", "/two-factor/confirm", { code: appCode(secret) });
    const codes = body["recoveryCodes"] as string[];
    expect(codes).toHaveLength(10);
    expect(new Set(codes).size).toBe(10);
    for (const code of codes) expect(code).toMatch(/^(?:[A-Z2-7]{4}-){3}[A-Z2-7]{4}$/);
    expect((await browser.ask("GET", "/session")).body).toMatchObject({
      twoFactor: { enabled: true, mustEnrol: false, recoveryCodesLeft: 10 },
    });
    const stored: unknown[] = [];
    for (const table of ["second_factors", "recovery_codes"])
      stored.push(await database.value.query(statement(`test_${table}`, `select * from ${table}`), []));
    const text = JSON.stringify(stored);
    for (const hidden of [secret, ...codes, ...codes.map((code) => code.replaceAll("-", ""))])
      expect(text).not.toContain(hidden);
  });

  it("that is on already cannot be set up again, and the error says so", async () => {
    const { browser } = await enrol(await harness.person());
    expect(await browser.ask("POST", "/two-factor", { currentPassword: PASSWORD })).toMatchObject({
      status: 400,
      body: { error: "You have two-factor authentication already: reload the page to change it" },
    });
  });

  it("asks for a code after the password; before the code, the routes that need a session answer 401", async () => {
    const person = await harness.person();
    const { secret } = await enrol(person);
    const browser = harness.browser();
    const answer = await browser.signIn(person.email, PASSWORD);
    expect(answer).toMatchObject({ status: 202, body: { secondFactorPending: true } });
    expect(browser.cookie).toBeNull();
    expect((await browser.ask("GET", "/sign-in")).body).toMatchObject({ secondFactorPending: true });
    for (const path of ["/session", "/credits", "/sessions"]) expect((await browser.ask("GET", path)).status).toBe(401);
    expect(await complete(browser, "123")).toMatchObject({ status: 400, body: { issues: [{ path: ["code"] }] } });
    expect((await complete(browser, appCode(secret))).status).toBe(200);
    expect((await browser.ask("GET", "/session")).status).toBe(200);
    expect((await browser.ask("GET", "/sign-in")).body).toMatchObject({ secondFactorPending: false });
    expect((await complete(harness.browser(), appCode(secret, 1))).status).toBe(401);
  });

  it("accepts each code once, even if three browsers send the code at the same time", async () => {
    const person = await harness.person();
    const { secret, codes } = await enrol(person);
    const [recovery = ""] = codes;
    for (const code of [appCode(secret, 1), recovery.toLowerCase()]) {
      const browsers = Array.from({ length: 3 }, () => harness.browser());
      for (const browser of browsers) await browser.signIn(person.email, PASSWORD);
      const answers = await Promise.all(browsers.map((browser) => complete(browser, code)));
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400]);
    }
    const browser = harness.browser();
    await browser.signIn(person.email, PASSWORD);
    expect((await complete(browser, recovery)).status).toBe(400);
  });

  it("limits wrong codes like wrong passwords, and a right password in between does not reset the limit", async () => {
    const person = await harness.person();
    const { browser: enrolled } = await enrol(person);
    /** Signs in with the password on one browser after another, then sends all codes at once. */
    const statusesOf = async (codes: readonly string[]): Promise<number[]> => {
      const browsers = codes.map(() => harness.browser());
      for (const browser of browsers) expect((await browser.signIn(person.email, PASSWORD)).status).toBe(202);
      const answers = await Promise.all(browsers.map((browser, index) => complete(browser, codes[index] ?? "")));
      return answers.map(({ status }) => status).toSorted((a, b) => a - b);
    };
    expect(await statusesOf(["000000", "000000", "AAAA-AAAA-AAAA-AAAA"])).toEqual([400, 400, 400]);
    expect(await statusesOf(["000000", "000000", "000000", "AAAA-AAAA-AAAA-AAAA"])).toEqual([400, 400, 429, 429]);
    expect((await enrolled.ask("GET", "/session")).body).toMatchObject({ twoFactor: { recoveryCodesLeft: 10 } });
  });

  it("is turned off, and the password is changed, only with the password and a code; new recovery codes replace the old ones", async () => {
    const person = await harness.person();
    const { browser, codes } = await enrol(person);
    const change = { currentPassword: PASSWORD, newPassword: "staple battery horse" };
    const noCode = await browser.ask("PUT", "/session/password", change);
    expect(noCode).toMatchObject({ status: 400, body: { issues: [{ path: ["code"] }] } });
    const off = (code: string, currentPassword = PASSWORD) =>
      browser.ask("POST", "/two-factor/disable", { currentPassword, code });
    expect((await off(codes[0] ?? "", "not my password")).status).toBe(400);
    expect((await off("000000")).status).toBe(400);
    expect((await browser.ask("PUT", "/session/password", { ...change, code: codes[1] })).status).toBe(200);
    const factors = { currentPassword: change.newPassword, code: codes[2] };
    const replaced = await browser.ask("POST", "/two-factor/recovery-codes", factors);
    const fresh = replaced.body["recoveryCodes"] as string[];
    expect(fresh).toHaveLength(10);
    expect((await off(codes[3] ?? "", change.newPassword)).status).toBe(400);
    expect((await off(fresh[0] ?? "", change.newPassword)).status).toBe(204);
    expect((await harness.browser().signIn(person.email, change.newPassword)).status).toBe(200);
  });

  it("has ten recovery codes after two replacements of them at the same time", async () => {
    const { userId } = await harness.person();
    const secret = {} as SealedPassword;
    await createSecondFactors(database.value).begin(userId, secret);
    await createSecondFactors(database.value).confirm(userId, secret, 1, Date.now());
    const replace = (tx: Queryable, name: string) =>
      createSecondFactors(tx).replaceRecoveryCodes(
        userId,
        Array.from({ length: 10 }, (_, index) => `${name} ${index}`),
      );
    const { promise: isReplaced, resolve: replaced } = Promise.withResolvers<void>();
    const first = database.value.transaction(async (tx) => {
      await replace(tx, "first");
      replaced();
      // Time for the second replacement to reach the lock.
      await setTimeout(200);
    });
    await isReplaced;
    await Promise.all([first, database.value.transaction((tx) => replace(tx, "second"))]);
    expect(await database.value.query(CODES, [userId])).toEqual([{ total: 10 }]);
  });

  it("gives no new recovery codes if it is removed at the same time", async () => {
    const person = await harness.person();
    const { browser, codes } = await enrol(person);
    let answer: ReturnType<Browser["ask"]> | undefined;
    await database.value.transaction(async (tx) => {
      await tx.query(LOCK_FACTOR, [person.userId]);
      answer = browser.ask("POST", "/two-factor/recovery-codes", { currentPassword: PASSWORD, code: codes[0] });
      await eventually(async () => (await database.value.query(WAITING, []))[0]?.total === 1);
      await createSecondFactors(tx).remove(person.userId);
    });
    expect(await answer).toMatchObject({ status: 400, body: { issues: [{ path: ["code"] }] } });
    expect(await database.value.query(CODES, [person.userId])).toEqual([{ total: 0 }]);
  });

  it("is reset by an owner if a person has lost it; the reset ends the sessions of the person", async () => {
    const owner = await harness.person();
    const colleague = await harness.colleague(owner, "operator");
    const { browser: theirs } = await enrol(colleague);
    const browser = await harness.signedIn(owner);
    expect((await browser.ask("POST", `/people/${colleague.userId}/reset-two-factor`)).status).toBe(204);
    expect((await theirs.ask("GET", "/session")).status).toBe(401);
    expect((await theirs.signIn(colleague.email, PASSWORD)).status).toBe(200);
  });

  it("that an organization requires must be set up before other requests are allowed, and cannot be turned off", async () => {
    const owner = await harness.person();
    const colleague = await harness.colleague(owner, "finance");
    const path = "/people/two-factor-requirement";
    const refused = await (await harness.signedIn(owner)).ask("PUT", path, { required: true });
    expect(refused).toMatchObject({ status: 400, body: { issues: [{ path: ["required"] }] } });
    const { browser, codes } = await enrol(owner);
    expect((await browser.ask("PUT", path, { required: true })).status).toBe(204);
    const theirs = await harness.signedIn(colleague);
    expect((await theirs.ask("GET", "/session")).body).toMatchObject({
      permissions: ["self"],
      twoFactor: { enabled: false, mustEnrol: true },
    });
    expect((await theirs.ask("GET", "/credits")).status).toBe(403);
    const begun = await theirs.ask("POST", "/two-factor", { currentPassword: PASSWORD });
    const { secret } = begun.body as { secret: string };
    expect((await theirs.ask("POST", "/two-factor/confirm", { code: appCode(secret) })).status).toBe(200);
    expect((await theirs.ask("GET", "/credits")).status).toBe(200);
    const off = await browser.ask("POST", "/two-factor/disable", { currentPassword: PASSWORD, code: codes[0] });
    expect(off.status).toBe(400);
  });
});
