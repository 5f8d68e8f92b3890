/**
 * Risk rules, breaches and evidence in the console: a real browser, and a stand-in for the risk
 * service.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";

import { verifyEvidence } from "@kapi/client";
import { eventually } from "@kapi/testkit";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { OutsideClient } from "../e2e/outside-client.ts";
import { type RunningSystem, startSystem } from "../e2e/system.ts";
import { severeViolations, overflowPixels } from "./accessibility.ts";
import { INSTALL_DEADLINE_MS } from "./chromium.ts";
import { type Cookies, ConsoleUser, startBrowser, WIDE } from "./console-user.ts";
import { checkPage } from "./page-check.ts";
import { ownerSession } from "./people.ts";
import { breachOf, evidenceOf, type RiskService, RULES, startRiskService, type StoredBreach } from "./risk-service.ts";

const BREACHED_AT = "2026-11-26T09:30:40.250Z";
/** The browser's time zone is an hour ahead of UTC. */
const SHOWN_TIME = "26 Nov 2026, 10:30:40.250 GMT+1";
const PHONE = { width: 360, height: 800 };
/** The printable width of an A4 page, in CSS pixels. */
const A4 = { width: 703, height: 1000 };

let risk: RiskService;
let system: RunningSystem;
let browser: Browser;
let session: Cookies;
let user: ConsoleUser;
let account: { readonly serverId: string; readonly accountNumber: string };

beforeAll(async () => {
  risk = await startRiskService();
  [system, browser] = await Promise.all([startSystem({ console: { RISK_URL: risk.url } }), startBrowser()]);
  const { serverId } = system.demo;
  const accountNumber = await new OutsideClient(system.demo).openAccount(10_000);
  account = { serverId, accountNumber };
  session = await ownerSession(browser, system.demo);
}, INSTALL_DEADLINE_MS);

afterAll(async () => {
  await browser.close();
  await system.stop();
  await risk.stop();
});

beforeEach(async () => {
  risk.rules = RULES;
  risk.breaches = [];
  risk.isFailing = false;
  user = await ConsoleUser.at(browser, system.demo.consoleUrl);
  await user.takeCookies(session);
});

afterEach(async () => {
  await user.leave();
});

const accountPage = (): string => `/accounts/${account.serverId}/${account.accountNumber}`;

const accountTab = (name: string): string => `${accountPage()}?tab=${name}`;

/** Adds a breach with its evidence, as the newest one. */
function stored(more: Parameters<typeof evidenceOf>[1] = {}): StoredBreach & { document: string } {
  const breach = breachOf(account, BREACHED_AT, "stored");
  const added = { breach, document: evidenceOf({ breach }, more) };
  risk.breaches.unshift(added);
  return added;
}

async function openBreach({ breach }: StoredBreach): Promise<void> {
  await user.open(`${accountPage()}/breaches/${breach.id}`);
  await user.heading(`Breach of account ${account.accountNumber}`).waitFor();
  await user.settled();
}

/** 300 positions, each with the profit that `profitOf` returns for its index. */
function manyPositions(profitOf: (index: number) => string | null) {
  return Array.from({ length: 300 }, (_, index) => ({
    positionId: `P-${index}`,
    symbol: "EURUSD",
    side: "buy",
    volume: "0.1",
    openPrice: "1.08451",
    price: null,
    profit: profitOf(index),
  }));
}

/** Prints the page to a file beside the screenshots; returns the number of pages. */
async function printedPages(name: string): Promise<number> {
  const pdf = await user.page.pdf({ path: `.local/screenshots/${name}.pdf`, preferCSSPageSize: true });
  return pdf.toString("latin1").match(/\/Type\s*\/Page\b/g)?.length ?? 0;
}

describe("the page of an account", () => {
  it("shows the risk rules in words, and the breaches, newest first, each with its command and evidence", async () => {
    const times = Array.from({ length: 53 }, (_, index) => new Date(Date.UTC(2026, 10, 25 - index, 9)).toISOString());
    risk.breaches = times.map((at) => ({ breach: breachOf(account, at, "none"), document: null }));
    const newest = stored();
    await user.open(accountTab("risk"));
    await user.page.getByText("Daily loss 5 % of the higher of equity and balance at 00:00 Europe/Prague.").waitFor();
    await user.page.getByText("When the limit is reached: Closes all positions and disables the account.").waitFor();
    await checkPage(user, "account-risk-rules");
    await user.page.setViewportSize(WIDE);
    await user.page.getByRole("link", { name: "Breaches", exact: true }).last().click();
    await user.page.getByText("54 breaches", { exact: true }).waitFor();
    const first = user.page.getByRole("table", { name: "Breaches, newest first" }).getByRole("row").nth(1);
    const text = (await first.innerText()).replaceAll(/\s+/g, " ");
    for (const part of [SHOWN_TIME, "Daily loss 5 %", "9,498.60 USD", "9,500.00 USD", "stored"])
      expect(text).toContain(part);
    const command = first.getByRole("link", { name: "Closes all positions and disables the account" });
    expect(await command.getAttribute("href")).toBe(
      `/console/commands/${account.serverId}/${newest.breach.commandId ?? ""}`,
    );
    await checkPage(user, "account-with-breaches");
    await user.button("Older").click();
    await user.page.waitForURL(/cursor=/);
    await user.settled();
    expect(await user.page.getByRole("table", { name: "Breaches, newest first" }).getByRole("row").count()).toBe(5);
    expect(user.complaints).toEqual([]);
  });

  it("says so if there are no rules or breaches, and still shows the account's details while the risk service is unavailable", async () => {
    risk.rules = [];
    await user.open(accountTab("risk"));
    await user.page.getByText("This account has no risk rules.").waitFor();
    await user.open(accountTab("breaches"));
    await user.page.getByText("No risk rule of this account was breached.").waitFor();
    risk.isFailing = true;
    await user.button("Refresh").click();
    await user.button("Try again").waitFor();
    await user.page.getByRole("link", { name: "Overview", exact: true }).last().click();
    expect(await user.fact("Initial balance").innerText()).toBe("10,000.00 USD");
    user.complaints.splice(0);
  });
});

describe("the page of a breach", () => {
  it("shows the values, the positions and the signed document, which is saved as the API sends it", async () => {
    const added = stored();
    await openBreach(added);
    const factText = async (name: string): Promise<string> =>
      (await user.fact(name).innerText()).replaceAll(/\s+/g, " ");
    expect(await factText("Breached")).toBe(`${SHOWN_TIME} 2026-11-26 09:30:40.250 UTC`);
    expect(await factText("Equity at the breach")).toBe("9,498.60 USD");
    expect(await factText("Threshold")).toBe("at or below 9,500.00 USD");
    expect(await factText("Reference")).toContain("10,000.00 USD");
    expect(await factText("Loss at the breach")).toBe("501.40 USD 5.014 % of 10,000.00 USD");
    expect(await factText("Live sample")).toContain("sequence 1060");
    const { signature, chain, breach } = JSON.parse(added.document) as {
      signature: { keyId: string };
      chain: { lastHash: string };
      breach: { extremeValue: string };
    };
    const lowest = Number(breach.extremeValue).toLocaleString("en-GB", { minimumFractionDigits: 2 });
    expect(await factText("Lowest equity")).toContain(lowest);
    expect(await factText("Last hash (SHA-256)")).toBe(chain.lastHash);
    expect(await factText("Key")).toContain(signature.keyId);
    await user.page.getByRole("img", { name: /^Equity of account/ }).waitFor();
    // Markup in the name of a symbol is shown as text.
    expect(await user.row("P-79").innerText()).toContain("<b>GER40</b>");
    const command = await user.page.getByRole("region", { name: "Command that verifies the document" }).innerText();
    const file = `evidence-${added.breach.id}.json`;
    expect(command).toBe(`npx -p @kapi/client kapi verify-evidence ${file} --url ${system.demo.baseUrl}`);

    const saving = user.page.waitForEvent("download");
    await user.page.getByRole("link", { name: "Download the document" }).click();
    const download = await saving;
    expect(download.suggestedFilename()).toBe(file);
    const bytes = readFileSync(await download.path());
    expect(bytes.equals(Buffer.from(added.document))).toBe(true);
    expect(verifyEvidence(bytes, risk.keys).status).toBe("verified");
    expect(user.complaints).toEqual([]);
  });

  it("names the parts that the evidence lacks", async () => {
    const added = stored({
      positions: null,
      missing: [
        { what: "positions", reason: "unavailable", from: null, to: null },
        { what: "samples", reason: "expired", from: null, to: BREACHED_AT },
      ],
    });
    await openBreach(added);
    await user.page.getByText("Open positions: kapi could not get them.").waitFor();
    await user.page
      .getByText(`Live samples before ${SHOWN_TIME}: kapi no longer had them when the document was made.`)
      .waitFor();
    await user.screenshot("breach-incomplete");
    expect(user.complaints).toEqual([]);
  });

  it("says when pending evidence will be complete, and then shows the evidence without a reload", async () => {
    const measuredAt = new Date().toISOString();
    const added: StoredBreach = { breach: breachOf(account, measuredAt, "pending"), document: null };
    risk.breaches = [added];
    await openBreach(added);
    await user.page
      .getByText(/It will be complete at about .* GMT\+1\. This page then shows it without a reload\./)
      .waitFor();
    expect(await user.fact("Equity at the breach").innerText()).toBe("9,498.60 USD");
    await user.screenshot("breach-pending");
    const { breach } = added;
    added.document = evidenceOf({ breach });
    added.breach = { ...breach, evidence: { ...breach.evidence, status: "stored" } };
    await user.page.getByRole("link", { name: "Download the document" }).waitFor();
    expect(user.complaints).toEqual([]);
  });

  it("says that a breach has no evidence, and what to do", async () => {
    const added: StoredBreach = { breach: breachOf(account, BREACHED_AT, "none"), document: null };
    risk.breaches = [added];
    await openBreach(added);
    await user.page.getByText("There is no evidence of this breach.").waitFor();
    await user.page.getByText("getIntervalEvidence").waitFor();
    await user.screenshot("breach-without-evidence");
    expect(user.complaints).toEqual([]);
  });

  it("can be loaded again after an error, and says that an unknown breach does not exist", async () => {
    const added = stored();
    risk.isFailing = true;
    await user.open(`${accountPage()}/breaches/${added.breach.id}`);
    await user.page.getByText("Something went wrong on our side.").waitFor();
    risk.isFailing = false;
    await user.button("Try again").click();
    await user.page.getByRole("link", { name: "Download the document" }).waitFor();
    await user.open(`${accountPage()}/breaches/${randomUUID()}`);
    await user.page.getByText("This account has no such breach.").waitFor();
    user.complaints.splice(0);
  });

  it("can be opened, and its document saved, with the keyboard alone", async () => {
    const added = stored();
    await user.open(accountTab("breaches"));
    const link = user.page.getByRole("link", { name: SHOWN_TIME });
    await link.waitFor();
    await user.settled();
    const tabUntil = async (what: string): Promise<void> => {
      for (let tabs = 0; tabs < 60; tabs += 1) {
        await user.page.keyboard.press("Tab");
        if ((await user.page.evaluate<string>("document.activeElement.textContent")).includes(what)) return;
      }
      throw new Error(`the keyboard does not reach ${what}`);
    };
    await tabUntil(SHOWN_TIME);
    await user.page.keyboard.press("Enter");
    await user.page.getByRole("link", { name: "Download the document" }).waitFor();
    await eventually(async () => expect(await user.page.evaluate<string>("document.activeElement.tagName")).toBe("H1"));
    const saving = user.page.waitForEvent("download");
    await tabUntil("Download the document");
    await user.page.keyboard.press("Enter");
    expect(readFileSync(await (await saving).path(), "utf8")).toBe(added.document);
    expect(user.complaints).toEqual([]);
  });

  it("shows the largest losses of many positions, and fits on one printed page even if parts of the evidence are missing", async () => {
    const positions = manyPositions((index) => `-${index + 1}.00`);
    const missing = [
      { what: "prices", reason: "unavailable", from: null, to: null },
      { what: "samples", reason: "expired", from: null, to: BREACHED_AT },
    ] as const;
    await openBreach(stored({ positions, missing: [...missing] }));
    await user.page.getByText("The 6 of 300 positions with the largest losses.").waitFor();
    expect(await user.row("P-299").count()).toBe(1);
    expect(await user.row("P-293").count()).toBe(0);
    expect(await printedPages("breach-with-many-positions")).toBe(1);

    // The positions have no profit values, so the largest losses are unknown.
    await openBreach(stored({ positions: manyPositions(() => null) }));
    await user.page.getByText("The first 6 of 300 positions.").waitFor();
    expect(await user.page.getByRole("columnheader", { name: "Profit" }).count()).toBe(0);
  });

  it("has no serious accessibility problem, no horizontal scrolling, and fits on one printed page", async () => {
    await openBreach(stored());
    await checkPage(user, "breach");
    await user.page.setViewportSize(PHONE);
    await user.screenshot("breach-360-dark");
    expect(await overflowPixels(user.page)).toBe(0);
    expect(await severeViolations(user.page)).toEqual([]);

    // Dark on the screen, light on paper.
    await user.page.setViewportSize(WIDE);
    expect(await printedPages("breach")).toBe(1);
    await user.page.emulateMedia({ media: "print" });
    await user.page.setViewportSize(A4);
    await user.screenshot("breach-print");
    expect(await user.page.evaluate("getComputedStyle(document.body).color")).toBe("rgb(27, 30, 36)");
    expect(await overflowPixels(user.page)).toBe(0);
    expect(user.complaints).toEqual([]);
  });
});
