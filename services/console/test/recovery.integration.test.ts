/** Mails of the console, through a real SMTP server: forgotten passwords and invitations. */
import { randomUUID } from "node:crypto";

import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { appCode } from "./authenticator.ts";
import { type ConsoleHarness, type ConsoleUser, PASSWORD, startConsoleHarness } from "./harness.ts";
import { type MailServer, startMailServer } from "./mail-server.ts";

const NEW_PASSWORD = "staple battery horse";
const FROM = "kapi <kapi@example.com>";

let mails: MailServer;
let harness: ConsoleHarness;
beforeAll(async () => {
  mails = await startMailServer();
  harness = await startConsoleHarness({
    CONSOLE_SMTP_URL: mails.url,
    CONSOLE_MAIL_FROM: FROM,
    CONSOLE_PUBLIC_URL: "https://console.example.com",
  });
});
afterAll(async () => {
  await harness.stop();
  await mails.stop();
});

const forget = (email: string, address?: string) =>
  harness.browser(address).ask("POST", "/password-recovery", { email });
const recover = (token: string, newPassword = NEW_PASSWORD) =>
  harness.browser().ask("POST", "/password-recovery/complete", { token, newPassword });

describe("a forgotten password", () => {
  it("is changed through a link in a mail: the link works once, and all sessions end", async () => {
    const person = await harness.person();
    const browser = await harness.signedIn(person);
    expect((await forget(person.email.toUpperCase())).status).toBe(202);
    const token = await mails.tokenTo(person.email, "recover");
    const [mail = ""] = mails.to(person.email);
    expect(mail).toContain(`From: ${FROM}`);
    expect(mail).toContain(`https://console.example.com/console/recover#${token}`);
    expect((await recover(token, "eleven char")).status).toBe(400);
    const statuses = (await Promise.all([recover(token), recover(token)])).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([204, 404]);
    expect((await browser.ask("GET", "/session")).status).toBe(401);
    expect((await harness.browser().signIn(person.email, PASSWORD)).status).toBe(401);
    expect((await harness.browser().signIn(person.email, NEW_PASSWORD)).status).toBe(200);
  });

  it("can be reported with the same answer for a known and an unknown e-mail address, within a second; the unknown address gets no mail", async () => {
    const person = await harness.person();
    const unknown = `${randomUUID()}@example.com`;
    const timed = async (email: string): Promise<{ status: number; text: string; ms: number }> => {
      const begin = performance.now();
      const { status, text } = await forget(email);
      return { status, text, ms: performance.now() - begin };
    };
    const answers = [await timed(person.email), await timed(unknown), await timed(person.email), await timed(unknown)];
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(["202 {}"]));
    for (const { ms } of answers) expect(ms).toBeLessThan(1_000);
    await mails.tokenTo(person.email, "recover");
    expect(mails.to(unknown)).toEqual([]);
  });

  it("has one valid link: a newer link replaces the older one", async () => {
    const person = await harness.person();
    await forget(person.email);
    const first = await mails.tokenTo(person.email, "recover");
    await forget(person.email);
    await eventually(() => expect(mails.to(person.email)).toHaveLength(2));
    const second = await mails.tokenTo(person.email, "recover");
    expect([(await recover(first)).status, (await recover(second)).status]).toEqual([404, 204]);
  });

  it("can no longer be changed through a link that was requested before the password was changed or reset", async () => {
    const setters = [
      async (person: ConsoleUser) =>
        (await harness.signedIn(person)).ask("PUT", "/session/password", {
          currentPassword: PASSWORD,
          newPassword: "another new password",
        }),
      (person: ConsoleUser) => harness.client.request("PUT", `/internal/users/${person.userId}/password`, {}),
    ];
    for (const set of setters) {
      const person = await harness.person();
      await forget(person.email);
      const token = await mails.tokenTo(person.email, "recover");
      expect((await set(person)).status).toBe(200);
      expect((await recover(token)).status).toBe(404);
    }
  });

  it("that is changed through a link does not bypass the second factor", async () => {
    const person = await harness.person();
    const owner = await harness.signedIn(person);
    const { body } = await owner.ask("POST", "/two-factor", { currentPassword: PASSWORD });
    await owner.ask("POST", "/two-factor/confirm", { code: appCode((body as { secret: string }).secret) });
    await forget(person.email);
    expect((await recover(await mails.tokenTo(person.email, "recover"))).status).toBe(204);
    expect((await harness.browser().signIn(person.email, NEW_PASSWORD)).status).toBe(202);
  });

  it("causes at most three mails to an e-mail address, but further requests get the same answer; requests from one network address are limited too", async () => {
    const person = await harness.person();
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 5; attempt += 1) statuses.push((await forget(person.email)).status);
    expect(new Set(statuses)).toEqual(new Set([202]));
    await eventually(() => expect(mails.to(person.email)).toHaveLength(3));
    const network: number[] = [];
    for (let attempt = 0; attempt < 22; attempt += 1)
      network.push((await forget(`${randomUUID()}@example.com`, "203.0.113.99")).status);
    expect(network.filter((status) => status === 429)).toHaveLength(2);
    expect(mails.to(person.email)).toHaveLength(3);
  });
});

describe("an invitation", () => {
  it("is sent by mail; the owner gets the token of the link only if the mail server refuses the mail", async () => {
    const browser = await harness.signedIn(await harness.person());
    const email = `${randomUUID()}@example.com`;
    const body = { email, name: "Guest", role: "finance" };
    expect(await browser.ask("POST", "/people/invitations", body)).toMatchObject({
      status: 201,
      body: { token: null },
    });
    const token = await mails.tokenTo(email, "accept");
    expect((await harness.browser().ask("POST", "/invitations/open", { token })).status).toBe(200);
    mails.refuse(true);
    try {
      const refused = await browser.ask("POST", "/people/invitations", body);
      expect(refused).toMatchObject({ status: 201, body: { token: expect.stringMatching(/^.{43}$/) as string } });
    } finally {
      mails.refuse(false);
    }
  });
});
