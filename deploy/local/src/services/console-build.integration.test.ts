import { readdirSync, readFileSync, utimesSync } from "node:fs";
import path from "node:path";

import { describe, expect, it } from "vitest";

import { buildConsole, CONSOLE_FOLDER } from "./console-build.ts";

const PAGE = path.join(CONSOLE_FOLDER, "index.html");

/** Makes the page older than every source, as a change of one of them does. */
function age(): void {
  utimesSync(PAGE, 0, 0);
}

/** Builds where that is needed; tells whether it was. */
async function built(): Promise<boolean> {
  const steps: string[] = [];
  await buildConsole({ note: (what) => steps.push(what), done: (what) => steps.push(what) });
  expect(steps).toEqual(steps.length === 0 ? [] : ["console: building its page", "console"]);
  return steps.length > 0;
}

describe("the console's page", () => {
  it("is built when a source is newer than it, and not again until the next change", async () => {
    await built();
    expect(await built()).toBe(false);
    age();
    expect(await built()).toBe(true);
    expect(await built()).toBe(false);
  });

  it("names files that are there and no others, and has nothing inline", async () => {
    await built();
    const page = readFileSync(PAGE, "utf8");
    const named = [...page.matchAll(/"\/console\/assets\/([^"]+)"/g)].map(([, name]) => name);
    expect(new Set(named)).toEqual(new Set(readdirSync(path.join(CONSOLE_FOLDER, "assets"))));
    expect(page).not.toMatch(/<style|style=|<script(?![^>]* src=)/);
  });

  it("built twice at once is whole", async () => {
    age();
    expect(await Promise.all([built(), built()])).toEqual([true, true]);
    expect(await built()).toBe(false);
  });
});
