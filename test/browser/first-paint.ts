/**
 * Measures how long a signed-in person waits for a page of the console on a fast 3G line: with an
 * empty cache, until its heading and until its data are on the screen. `npm run bench -- console`
 * measures a running kapi. It needs `CONSOLE_URL`, `CONSOLE_EMAIL` and `CONSOLE_PASSWORD`, whose
 * values `npm start` prints.
 */
import { eventually } from "@kapi/testkit";
import type { Browser, BrowserContext } from "playwright-core";

import { type Account, ConsoleUser, type Cookies, startBrowser } from "./console-user.ts";

const RUNS = 5;
/** "Fast 3G" of WebPageTest: 1.6 Mbit/s down, 768 kbit/s up, 150 ms for each round trip. */
const FAST_3G = { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 96_000 };

/** Records when an element is first on the screen, in milliseconds since the navigation began. */
const RECORD_FRAMES = `globalThis.paints = {};
const look = () => {
  for (const name of ["h1", "table", "section.card"]) {
    if (document.querySelector(name) !== null) globalThis.paints[name] ??= performance.now();
  }
  requestAnimationFrame(look);
};
requestAnimationFrame(look);`;

/** Times of one load, or medians of several loads, in milliseconds. */
interface FirstPaint {
  readonly headingMs: number;
  readonly dataMs: number;
}

/** The measured pages, and the first element with data of each. */
export const MEASURED_PAGES = { overview: "section.card", accounts: "table" } as const;
export type MeasuredPage = keyof typeof MEASURED_PAGES;

/**
 * Loads a page at `consoleUrl` several times, with the session of `cookies`. Returns the medians of
 * the measured times.
 */
export async function measureFirstPaint(
  browser: Browser,
  consoleUrl: string,
  cookies: Cookies,
  name: MeasuredPage,
): Promise<FirstPaint> {
  const headings: number[] = [];
  const data: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const context = await browser.newContext();
    await context.addCookies(cookies);
    const { headingMs, dataMs } = await measureOnce(context, consoleUrl, name);
    headings.push(headingMs);
    data.push(dataMs);
    await context.close();
  }
  return { headingMs: medianOf(headings), dataMs: medianOf(data) };
}

async function measureOnce(context: BrowserContext, consoleUrl: string, name: MeasuredPage): Promise<FirstPaint> {
  const element = MEASURED_PAGES[name];
  const page = await context.newPage();
  const protocol = await context.newCDPSession(page);
  await protocol.send("Network.enable");
  await protocol.send("Network.emulateNetworkConditions", FAST_3G);
  await page.addInitScript({ content: RECORD_FRAMES });
  await page.goto(consoleUrl + name, { waitUntil: "commit" });
  await page.locator(element).first().waitFor();
  await eventually(() => page.evaluate<boolean>(`globalThis.paints[${JSON.stringify(element)}] !== undefined`));
  const paints = await page.evaluate<Partial<Record<string, number>>>("globalThis.paints");
  return { headingMs: paints["h1"] ?? 0, dataMs: paints[element] ?? 0 };
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

async function main(): Promise<void> {
  const { CONSOLE_URL: url, CONSOLE_EMAIL: email, CONSOLE_PASSWORD: password } = process.env;
  if (url === undefined || email === undefined || password === undefined) {
    throw new Error("Set CONSOLE_URL (with a slash at its end), CONSOLE_EMAIL and CONSOLE_PASSWORD.");
  }
  const account: Account = { email, password };
  const browser = await startBrowser();
  const user = await ConsoleUser.at(browser, url);
  await user.open("/");
  await user.signIn(account);
  await user.button("Sign out").waitFor();
  for (const name of Object.keys(MEASURED_PAGES) as MeasuredPage[]) {
    const { headingMs, dataMs } = await measureFirstPaint(browser, url, await user.cookies(), name);
    process.stdout.write(
      `${name}: heading after ${Math.round(headingMs)} ms, data after ${Math.round(dataMs)} ms (p50 of ${RUNS})\n`,
    );
  }
  await browser.close();
}

if (import.meta.main) await main();
