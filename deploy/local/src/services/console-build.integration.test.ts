import { readdirSync, readFileSync, utimesSync } from "node:fs";
import path from "node:path";

import { describe, expect, it } from "vitest";

import { buildConsole, CONSOLE_FOLDER } from "./console-build.ts";

const PAGE = path.join(CONSOLE_FOLDER, "index.html");
const ASSETS = path.join(CONSOLE_FOLDER, "assets");

/** Makes the page older than every source, as after a change of a source. */
function age(): void {
  utimesSync(PAGE, 0, 0);
}

/** Builds the page if necessary. Returns whether it was built. */
async function built(): Promise<boolean> {
  const steps: string[] = [];
  await buildConsole({ note: (what) => steps.push(what), done: (what) => steps.push(what) });
  expect(steps).toEqual(steps.length === 0 ? [] : ["console: building its page", "console"]);
  return steps.length > 0;
}

describe("the console's page", () => {
  it("is built if a source is newer than the page, and not again until the next change", async () => {
    await built();
    expect(await built()).toBe(false);
    age();
    expect(await built()).toBe(true);
    expect(await built()).toBe(false);
  });

  it("refers, directly or through its files, to exactly the files in the assets folder, and has no inline code", async () => {
    await built();
    const page = readFileSync(PAGE, "utf8");
    const files = readdirSync(ASSETS);
    const namedIn = (text: string): string[] => files.filter((name) => text.includes(name));
    const reached = new Set(namedIn(page));
    // The set grows during this loop: each file adds the files that it names.
    for (const name of reached) {
      for (const next of namedIn(readFileSync(path.join(ASSETS, name), "utf8"))) reached.add(next);
    }
    const missing = [...page.matchAll(/\/console\/assets\/([^"]+)"/g)].filter(([, name = ""]) => !files.includes(name));
    expect(missing).toEqual([]);
    expect(files.filter((name) => !reached.has(name))).toEqual([]);
    expect(page).not.toMatch(/<style|style=|<script(?![^>]* src=)/);
  });

  it("is built by two builds at the same time without an error, and not again afterwards", async () => {
    age();
    expect(await Promise.all([built(), built()])).toEqual([true, true]);
    expect(await built()).toBe(false);
  });
});
