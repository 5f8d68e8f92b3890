/**
 * A user with a browser: their actions on the console's pages, and the errors that the browser
 * reported.
 */
import { mkdirSync } from "node:fs";
import path from "node:path";

import { eventually } from "@kapi/testkit";
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core";

import { chromiumPath } from "./chromium.ts";

const SCREENSHOTS = path.resolve(import.meta.dirname, "../../.local/screenshots");
/** Maximum time until the page shows an expected element; the machine may be busy. */
const DEADLINE_MS = 15_000;
const LAUNCH_DEADLINE_MS = 60_000;
/** A time zone other than UTC, to detect unconverted times. */
const ZONE = "Africa/Lagos";
/** Delays the `close` event of a dialog, as a loaded machine does. */
const REPORT_CLOSE_LATE = `addEventListener("close", (event) => {
  if (!event.isTrusted) return;
  event.stopImmediatePropagation();
  setTimeout(() => event.target.dispatchEvent(new Event("close")), 500);
}, true);`;
/** Writes each violation of the content security policy to the browser's console. */
const REPORT_VIOLATIONS = `document.addEventListener("securitypolicyviolation", (event) => {
  console.error("CSP violation: " + event.violatedDirective + " " + event.blockedURI);
});`;

export const WIDE = { width: 1280, height: 900 };
/** The narrowest screen that the tests use: a small telephone. */
export const NARROW = { width: 360, height: 740 };

export type Cookies = Awaited<ReturnType<BrowserContext["cookies"]>>;

/** What a person signs in with; not a trading account. */
export interface Account {
  readonly email: string;
  readonly password: string;
}

/**
 * Starts a headless browser. Chromium's sandbox does not work for root, so root runs the browser
 * without the sandbox.
 */
export async function startBrowser(): Promise<Browser> {
  const sandbox = process.getuid?.() !== 0;
  return chromium.launch({
    executablePath: await chromiumPath(),
    chromiumSandbox: sandbox,
    args: ["--disable-gpu"],
    timeout: LAUNCH_DEADLINE_MS,
  });
}

/** One user with their own browser window. */
export class ConsoleUser {
  readonly page: Page;
  /**
   * Errors that the browser reported, in order: script errors, violations of the content security
   * policy, failed requests.
   */
  readonly complaints: string[] = [];
  readonly #context: BrowserContext;
  readonly #consoleUrl: string;

  private constructor(context: BrowserContext, page: Page, consoleUrl: string) {
    this.#context = context;
    this.page = page;
    this.#consoleUrl = consoleUrl;
    page.setDefaultTimeout(DEADLINE_MS);
    page.on("pageerror", (error) => this.complaints.push(`script: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error") this.complaints.push(`${message.text()} ${message.location().url}`.trim());
    });
  }

  /** Opens a blank window without cookies. `consoleUrl` ends with a slash. */
  static async at(browser: Browser, consoleUrl: string): Promise<ConsoleUser> {
    const context = await browser.newContext({ viewport: WIDE, locale: "en-GB", timezoneId: ZONE });
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await context.addInitScript({ content: REPORT_VIOLATIONS });
    return new ConsoleUser(context, await context.newPage(), consoleUrl);
  }

  /** Delays the `close` events of dialogs, from the next document on. */
  async reportCloseLate(): Promise<void> {
    await this.page.addInitScript(REPORT_CLOSE_LATE);
  }

  /** Opens an address of the console, for example `/keys`. */
  async open(address: string): Promise<void> {
    await this.page.goto(this.#consoleUrl + address.slice(1));
  }

  async signIn({ email, password }: Account): Promise<void> {
    await this.page.getByLabel("E-mail").fill(email);
    await this.page.getByLabel("Password").fill(password);
    await this.button("Sign in").click();
  }

  /** Clicks the link of a page in the navigation, and waits for the heading of the page. */
  async visit(name: string): Promise<void> {
    await this.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }).click();
    await this.heading(name === "Keys" ? "Management keys" : name).waitFor();
  }

  heading(name: string | RegExp): Locator {
    return this.page.getByRole("heading", { name, level: 1 });
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole("button", { name, exact: typeof name === "string" });
  }

  /** The table row that contains `text`. */
  row(text: string): Locator {
    return this.page.getByRole("row").filter({ hasText: text });
  }

  /** The value beside a name, in a list of names and values on the page. */
  fact(name: string): Locator {
    return this.page
      .locator("dl > div")
      .filter({ has: this.page.getByText(name, { exact: true }) })
      .locator("dd");
  }

  /** Returns the number of credits beside a name in the list of the wallet, such as `Available`. */
  async credits(name: string): Promise<number> {
    const text = await this.fact(name).locator(".number").innerText();
    return Number(text.replaceAll(",", ""));
  }

  /** Waits until the page has loaded its data. */
  async settled(): Promise<void> {
    await eventually(() =>
      this.page.evaluate<boolean>(
        "!document.querySelector('[aria-busy=true]') && !/Loading/.test(document.body.innerText)",
      ),
    );
  }

  /** Returns the browser's cookies. Another browser with these cookies has the same session. */
  cookies(): Promise<Cookies> {
    return this.#context.cookies();
  }

  async takeCookies(cookies: Cookies): Promise<void> {
    await this.#context.addCookies(cookies);
  }

  /** Simulates an expired session: the browser has no valid cookie. */
  async loseSession(): Promise<void> {
    await this.#context.clearCookies();
  }

  async screenshot(name: string): Promise<void> {
    mkdirSync(SCREENSHOTS, { recursive: true });
    await this.page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`), fullPage: true });
  }

  async leave(): Promise<void> {
    await this.#context.close();
  }
}
