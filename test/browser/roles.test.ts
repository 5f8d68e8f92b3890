/**
 * Tests what a person sees if their role, a missing second factor or a limit does not allow
 * something: in a real browser, with the console and the organization service.
 */
import { randomUUID } from "node:crypto";

import type { WebhookDelivery, WebhookEndpoint } from "@kapi/contracts";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { CONSOLE_FOLDER } from "../../deploy/local/src/services/console-build.ts";
import { appCode } from "../../services/console/test/authenticator.ts";
import {
  type ConsoleHarness,
  type ConsoleUser as Person,
  PASSWORD,
  startConsoleHarness,
} from "../../services/console/test/harness.ts";
import { INSTALL_DEADLINE_MS } from "./chromium.ts";
import { ConsoleUser, startBrowser } from "./console-user.ts";

const AT = "2026-03-02T10:05:00.000Z";

let browser: Browser;
let harness: ConsoleHarness;
let owner: Person;
let user: ConsoleUser;

beforeAll(async () => {
  browser = await startBrowser();
  harness = await startConsoleHarness({ CONSOLE_ASSETS: CONSOLE_FOLDER, CONSOLE_SECURE_COOKIES: "off" });
}, INSTALL_DEADLINE_MS);
beforeEach(async () => {
  owner = await harness.person();
  user = await ConsoleUser.at(browser, `${harness.url}/console/`);
});
afterEach(async () => {
  await user.leave();
});
afterAll(async () => {
  await browser.close();
  await harness.stop();
});

/** Opens an address, and signs in as the person. */
async function openAs({ email }: Person, address: string): Promise<void> {
  await user.loseSession();
  await user.open(address);
  await user.signIn({ email, password: PASSWORD });
  await user.button("Sign out").waitFor();
  await user.settled();
}

/** The labels of all buttons of the page, without the header and the navigation. */
const buttons = (): Promise<string[]> => user.page.locator("main button, main a.button").allInnerTexts();

describe("a person sees no button for an action that their role does not allow", () => {
  it("on the page of people and on the page of the audit log, opened by the address of the page", async () => {
    for (const role of ["operator", "finance", "read_only"] as const) {
      const colleague = await harness.colleague(owner, role);
      for (const address of ["/people", "/audit"]) {
        await openAs(colleague, address);
        await user.page.getByText("This needs the role owner.").waitFor();
        expect([role, address, await buttons()]).toEqual([role, address, []]);
      }
    }
    await openAs(owner, "/people");
    expect(await buttons()).toContain("Invite a person");
    await user.visit("Audit log");
    await user.settled();
    expect(await buttons()).toEqual(expect.arrayContaining(["Export CSV", "Refresh"]));
  });

  it("in the dialog of a webhook delivery, which only some roles may send again", async () => {
    const endpoint: WebhookEndpoint = {
      id: randomUUID(),
      url: "https://receiver.example.com",
      description: "",
      kinds: null,
      serverIds: null,
      status: "enabled",
      disabledReason: null,
      failingSince: null,
      createdAt: AT,
      updatedAt: AT,
    };
    const delivery: WebhookDelivery = {
      id: randomUUID(),
      eventId: randomUUID(),
      endpointId: endpoint.id,
      type: "webhook.test",
      status: "failed",
      attempts: [],
      nextAttemptAt: null,
      createdAt: AT,
      completedAt: AT,
    };
    const pagination = { page: 1, limit: 20, total: 1, totalPages: 1 };
    await user.page.route(`**/console/api/webhooks/${endpoint.id}`, (route) => route.fulfill({ json: { endpoint } }));
    await user.page.route(`**/console/api/webhooks/${endpoint.id}/deliveries?*`, (route) =>
      route.fulfill({ json: { deliveries: [delivery], pagination } }),
    );
    for (const [role, shown] of [
      ["operator", ["Resend", "Close"]],
      ["finance", ["Close"]],
      ["read_only", ["Close"]],
    ] as const) {
      await openAs(await harness.colleague(owner, role), `/webhooks/${endpoint.id}`);
      await user.button("Details of webhook.test").click();
      const dialog = user.page.getByRole("dialog");
      await dialog.waitFor();
      expect([role, await dialog.getByRole("button").allInnerTexts()]).toEqual([role, shown]);
    }
  });
});

describe("a person who may not do something", () => {
  const alert = () => user.page.getByRole("alert").innerText();

  it("sees which role may do it", async () => {
    await openAs(await harness.colleague(owner, "finance"), "/people");
    expect(await alert()).toBe(
      "Your role does not allow this. This needs the role owner. Ask an owner of Test to change your role.",
    );
  });

  it("sees that the organization requires a second factor, if an owner required it after the page was opened", async () => {
    await openAs(await harness.colleague(owner, "finance"), "/credits");
    const owning = await harness.signedIn(owner);
    const begun = await owning.ask("POST", "/two-factor", { currentPassword: PASSWORD });
    await owning.ask("POST", "/two-factor/confirm", { code: appCode((begun.body as { secret: string }).secret) });
    expect((await owning.ask("PUT", "/people/two-factor-requirement", { required: true })).status).toBe(204);
    await user.button("Refresh").click();
    await user.page.getByRole("alert").first().waitFor();
    const texts = await user.page.getByRole("alert").allInnerTexts();
    for (const text of texts)
      expect(text.trim()).toBe("Set up two-factor authentication first: your organization requires it.");
  });

  it("sees that they are no longer an owner", async () => {
    await harness.colleague(owner, "finance");
    await openAs(owner, "/people");
    // The answer if another owner demotes this one while the request is carried out.
    await user.page.route("**/console/api/people/*/disable", (route) =>
      route.fulfill({
        status: 403,
        headers: { "x-error-code": "MISSING_PERMISSION" },
        json: { error: "You are no longer an owner" },
      }),
    );
    await user.button("Disable: A finance").click();
    await user.button("Disable person").click();
    expect(await alert()).toBe("You are no longer an owner.");
  });
});

it("an export of the audit log that is rejected says why, and when to try again", async () => {
  await openAs(owner, "/audit");
  const rejected = { status: 429, headers: { "retry-after": "7" }, json: { error: "Too many concurrent requests" } };
  await user.page.route("**/console/api/audit/export", (route) => route.fulfill(rejected));
  await user.button("Export CSV").click();
  await user.page.getByText("Too many concurrent requests. Try again in 7 s.").waitFor();
  await user.page.unroute("**/console/api/audit/export");
  const download = user.page.waitForEvent("download");
  await user.button("Export CSV").click();
  expect((await download).suggestedFilename()).toBe("audit-log.csv");
});

it("a list of servers, and lists about all servers, say how many servers they leave out", async () => {
  const configuration = {
    serverName: "First",
    companyName: "Test",
    currency: "USD",
    currencySymbol: "$",
    environment: "demo",
    supportedLeverage: [100],
    defaultLeverage: null,
  };
  const servers = [{ serverId: randomUUID(), status: "active", configuration, accountCount: 0 }];
  await user.page.route("**/console/api/servers", (route) => route.fulfill({ json: { servers, serversLeftOut: 12 } }));
  await openAs(owner, "/servers");
  for (const page of ["Servers", "Limits", "Breaches", "Requests", "Commands"]) {
    await user.visit(page);
    await user.page.getByText("12 more servers are left out").waitFor();
  }
});
