/**
 * docs/reference/settings.md lists exactly the settings of all services. The page is generated from
 * the schemas. `npm run settings-reference` writes the page again.
 */
import { readFileSync } from "node:fs";
import path from "node:path";

import { describe, expect, it } from "vitest";

import { ConfigSchema as Broken } from "./fixtures/settings/config.ts";
import {
  OUTSIDE_SCHEMAS,
  outsideVariables,
  schemaReaders,
  sectionsOf,
  servicesBelow,
  settingsOf,
  settingsPage,
  sharedComments,
} from "./settings.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const FIXTURE = path.join(import.meta.dirname, "fixtures/settings/config.ts");
const SHARED = path.join(ROOT, "libs/runtime/src/config-fields.ts");

describe("the reference of settings", async () => {
  const sections = await sectionsOf(ROOT);
  const names = new Set(sections.flatMap(({ settings }) => settings.map(({ name }) => name)));

  it("is equal to the committed page (`npm run settings-reference` writes it)", async () => {
    await expect(settingsPage(ROOT, sections)).toMatchFileSnapshot("../../docs/reference/settings.md");
  });

  it("has a meaning for each setting", () => {
    const faults = sections.flatMap(({ title, faults: found }) => found.map((fault) => `${title}: ${fault}`));
    expect(faults).toEqual([]);
  });

  it("has every service, and the variables without a schema", () => {
    const titles = sections.map(({ title }) => title);
    expect(servicesBelow(ROOT).length).toBeGreaterThan(5);
    expect(titles).toEqual(expect.arrayContaining(servicesBelow(ROOT)));
    expect(outsideVariables(ROOT, names)).toEqual(Object.keys(OUTSIDE_SCHEMAS).toSorted());
  });

  it("has every schema: only the start of a process and rebuild-history read settings with a schema", () => {
    expect(schemaReaders(ROOT)).toEqual(["libs/runtime/src/main.ts", "services/account/src/rebuild-history.ts"]);
  });
});

describe("a setting", () => {
  const shared = sharedComments(readFileSync(SHARED, "utf8"));
  const { settings, faults } = settingsOf(Broken.shape, readFileSync(FIXTURE, "utf8"), shared);

  it("has a default, allowed values and a meaning", () => {
    expect(settings[0]).toEqual({
      name: "COMMENTED",
      fallback: "3",
      allowed: "a whole number from 2 to 9",
      meaning: "Has a comment: `a` | b <c>.",
    });
    expect(settings.find(({ name }) => name === "LOG_LEVEL")).toMatchObject({ fallback: "info" });
    expect(settings.find(({ name }) => name === "UNCOMMENTED")).toMatchObject({ fallback: null, allowed: "any text" });
    expect(settings.find(({ name }) => name === "LINE_COMMENTED")).toMatchObject({ fallback: undefined });
  });

  it("is reported if it has no comment with its meaning, or a comment or message that does not fit the page", () => {
    expect(faults).toEqual([
      "UNCOMMENTED: has no comment that says what it means",
      "LINE_COMMENTED: has no comment that says what it means",
      "UNNAMED: has no comment that says what it means",
      "LINKED: its comment has {@link}, which docs/reference/settings.md cannot show",
      'UNCLEAR: the message "Invalid option: expected one of "on"|"off"" does not begin with must or needs',
    ]);
  });
});
