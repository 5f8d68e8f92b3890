/**
 * The sign-in of people in a real browser, with the console and the organization service: a second
 * factor, recovery codes, forgotten passwords and invitations, with mails of a real SMTP server.
 */
import { eventually } from "@kapi/testkit";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";

import { CONSOLE_FOLDER } from "../../deploy/local/src/services/console-build.ts";
import { appCode } from "../../services/console/test/authenticator.ts";
import { type ConsoleHarness, PASSWORD, startConsoleHarness } from "../../services/console/test/harness.ts";
import { type MailServer, startMailServer } from "../../services/console/test/mail-server.ts";
import { INSTALL_DEADLINE_MS } from "./chromium.ts";
import { type Account, ConsoleUser, startBrowser } from "./console-user.ts";
import { checkPage } from "./page-check.ts";

const NEW_PASSWORD = "staple battery horse";
const SHOWN_CODES = 10;

let browser: Browser;
let mails: MailServer;
let harness: ConsoleHarness;
const users: ConsoleUser[] = [];

beforeAll(async () => {
  browser = await startBrowser();
  mails = await startMailServer();
  harness = await startConsoleHarness({
    CONSOLE_SMTP_URL: mails.url,
    CONSOLE_MAIL_FROM: "kapi <kapi@example.com>",
    CONSOLE_PUBLIC_URL: "https://console.example.com",
    CONSOLE_ASSETS: CONSOLE_FOLDER,
    CONSOLE_SECURE_COOKIES: "off",
  });
}, INSTALL_DEADLINE_MS);
afterEach(async () => {
  await Promise.all(users.splice(0).map((user) => user.leave()));
});
afterAll(async () => {
  await browser.close();
  await harness.stop();
  await mails.stop();
});

async function newWindow(): Promise<ConsoleUser> {
  const user = await ConsoleUser.at(browser, `${harness.url}/console/`);
  users.push(user);
  return user;
}

/** Signs in with the password, up to the question for a code. */
async function signInToCode(user: ConsoleUser, account: Account): Promise<void> {
  await user.signIn(account);
  await user.heading("Enter your code").waitFor();
}

async function enterCode(user: ConsoleUser, code: string): Promise<void> {
  await user.page.getByLabel("Code", { exact: true }).fill(code);
  await user.button("Continue").click();
}

async function signOut(user: ConsoleUser): Promise<void> {
  await user.button("Sign out").click();
  await user.heading("Sign in").waitFor();
}

it("two-factor authentication is turned on; an app code signs in, a recovery code signs in once, and a mailed link sets a new password", async () => {
  const person = await harness.person();
  const account = { email: person.email, password: PASSWORD };
  const user = await newWindow();
  await user.open("/profile");
  await user.signIn(account);
  await user.heading("Your profile").waitFor();

  const section = user.page.locator("section").filter({ hasText: "Two-factor authentication" });
  await section.getByLabel("Your password").fill("another password");
  await user.button("Set up").click();
  await section.getByText("Is not your password.").waitFor();
  await section.getByLabel("Your password").fill(PASSWORD);
  await user.button("Set up").click();
  await user.page.getByAltText("QR code of the secret").waitFor();
  const width = (): Promise<number> => user.page.evaluate<number>("document.querySelector('img.qr').naturalWidth");
  await eventually(async () => expect(await width()).toBeGreaterThan(0));
  const secret = (await user.page.getByRole("region", { name: "The secret" }).innerText()).trim();
  await checkPage(user, "two-factor-secret");
  await user.page.getByLabel("Code of the app").fill("000000");
  await user.button("Turn on").click();
  await section.locator(".error").waitFor();
  await user.page.getByLabel("Code of the app").fill(appCode(secret));
  await user.button("Turn on").click();
  const shown = await user.page.getByRole("region", { name: "Recovery codes" }).innerText();
  const [first = "", second = "", third = "", ...others] = shown.split("\n").map((code) => code.trim());
  expect(others).toHaveLength(SHOWN_CODES - 3);
  await checkPage(user, "two-factor-codes");
  await user.button("I have stored the codes").click();
  await user.page.getByText(`It is on. You have ${SHOWN_CODES} recovery codes left.`).waitFor();
  await checkPage(user, "two-factor-on");

  // The error is that of the last button.
  await section.getByLabel("Your password").fill(account.password);
  await section.getByLabel("Code").fill("000000");
  await user.button("Replace recovery codes").click();
  await section.locator(".error").waitFor();
  await section.getByLabel("Your password").fill("another password");
  await user.button("Turn off").click();
  await section.getByText("Is not your password").waitFor();

  await signOut(user);
  await signInToCode(user, account);
  // A reload does not ask for the password again.
  await user.page.reload();
  await user.heading("Enter your code").waitFor();
  await checkPage(user, "sign-in-code");
  await enterCode(user, appCode(secret, 1));
  await user.heading("Your profile").waitFor();

  await signOut(user);
  await signInToCode(user, account);
  await enterCode(user, first);
  await user.page.getByText(`You have ${SHOWN_CODES - 1} recovery codes left.`).waitFor();

  await signOut(user);
  await signInToCode(user, account);
  await enterCode(user, first);
  await user.page.getByText("Is none of your recovery codes, or was used already: use another one.").waitFor();
  await checkPage(user, "sign-in-used-code");
  await enterCode(user, second);
  await user.page.getByText(`You have ${SHOWN_CODES - 2} recovery codes left.`).waitFor();

  // In another window, the person asks for a link to set a new password.
  const other = await newWindow();
  await other.open("/");
  await other.button("Forgot your password?").click();
  await other.page.getByLabel("E-mail").fill(account.email);
  await other.button("Send the link").click();
  await other.page.getByText("a link is on its way").waitFor();
  await checkPage(other, "password-forgotten");
  await other.open(`/recover#${await mails.tokenTo(account.email, "recover")}`);
  await other.page.getByLabel("New password").fill(NEW_PASSWORD);
  await checkPage(other, "password-recover");
  await other.button("Change password").click();
  await other.page.getByText("Your password was changed, and all your sessions have ended.").waitFor();
  await checkPage(other, "password-recovered");

  // The session of the first window has ended.
  await user.page.reload();
  await user.heading("Sign in").waitFor();

  await other.button("Sign in").click();
  await other.heading("Sign in").waitFor();
  await other.signIn(account);
  await other.page.getByText("E-mail or password is wrong.").waitFor();
  await signInToCode(other, { ...account, password: NEW_PASSWORD });
  await enterCode(other, third);
  await other.button("Sign out").waitFor();
  // The link works once.
  await user.open(`/recover#${await mails.tokenTo(account.email, "recover")}`);
  await user.page.getByLabel("New password").fill("battery staple horse");
  await user.button("Change password").click();
  await user.page.getByText("This link does not work: it was used or replaced, or it expired.").waitFor();
  await user.page.getByText("Otherwise go to the sign-in page and ask for a new link.").waitFor();
  await checkPage(user, "password-recover-used");
});

it("while the ways to sign in cannot be read, the page says so, and does not say that the console sends no mail", async () => {
  const user = await newWindow();
  const answer = { status: 500, headers: { "x-error-code": "INTERNAL" }, json: { error: "Internal error" } };
  await user.page.route("**/console/api/sign-in", (route) => route.fulfill(answer));
  await user.open("/");
  await user.button("Forgot your password?").click();
  await user.heading("Forgotten password").waitFor();
  expect(await user.page.getByText("This console sends no mail").count()).toBe(0);
  await user.page.getByText("Could not load the ways to set a new password.").waitFor();
  await user.button("Back").click();
  await user.page.getByText("Could not load the other ways to sign in.").waitFor();
  await user.page.unroute("**/console/api/sign-in");
  await user.button("Try again").click();
  await user.page.getByText("Could not load").waitFor({ state: "detached" });
  await user.button("Forgot your password?").click();
  await user.button("Send the link").waitFor();
});

it("an invited colleague joins by the link of a mail, and does not see the page of people", async () => {
  const person = await harness.person();
  const owner = await newWindow();
  await owner.open("/people");
  await owner.signIn({ email: person.email, password: PASSWORD });
  await owner.heading("People").waitFor();
  const email = `guest-${person.userId}@example.com`;
  await owner.button("Invite a person").click();
  const dialog = owner.page.getByRole("dialog");
  await dialog.getByLabel("E-mail").fill(email);
  await dialog.getByLabel("Name", { exact: true }).fill("Guest");
  let send = (): void => undefined;
  await owner.page.route("**/console/api/people/invitations", async (route) => {
    await new Promise<void>((resolve) => (send = resolve));
    await route.continue();
  });
  await dialog.getByRole("button", { name: "Invite", exact: true }).click();
  // While the request runs, the dialog stays open: it shows the outcome.
  await dialog.getByRole("button", { name: "Inviting…" }).waitFor();
  await owner.page.keyboard.press("Escape");
  expect(await dialog.getByRole("button", { name: "Cancel" }).isDisabled()).toBe(true);
  send();
  const token = await mails.tokenTo(email, "accept");
  await owner.settled();
  await checkPage(owner, "invitation-sent");

  const guest = await newWindow();
  await guest.open(`/accept#${token}`);
  await guest.page.getByLabel("Choose a password").fill(NEW_PASSWORD);
  await checkPage(guest, "invitation");
  await guest.button("Join").click();
  await guest.heading("Overview").waitFor();
  const pages = guest.page.getByRole("navigation", { name: "Pages" });
  expect(await pages.getByText("People", { exact: true }).count()).toBe(0);
  // The link works once.
  const late = await newWindow();
  await late.open(`/accept#${token}`);
  await late.page.getByText("This link does not work").waitFor();
  await checkPage(late, "invitation-used");
  await late.button("Sign in").click();
  await late.heading("Sign in").waitFor();
});
