/**
 * Whoever clones the repository can look everything up: each citation in code, tests and documents
 * leads to a section that exists, and each relative link to a file and an anchor.
 */
import path from "node:path";

import { describe, expect, it } from "vitest";

import { anchorsOf, citationFaults, citationsBelow, linkFaults } from "./citations.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const FIXTURE = path.join(import.meta.dirname, "fixtures/citations");

describe("citations", () => {
  it("of this repository lead to sections that exist", () => {
    expect(citationFaults(ROOT)).toEqual([]);
  });

  it("are found in code, statements, tests and documents", () => {
    const files = new Set(citationsBelow(ROOT).map(({ file }) => file));
    for (const place of ["libs/", "services/", "test/", "docs/", "deploy/"]) {
      expect(Array.from(files).some((file) => file.startsWith(place))).toBe(true);
    }
    expect(Array.from(files).some((file) => file.endsWith(".sql"))).toBe(true);
  });

  it("that lead nowhere are named", () => {
    expect(citationFaults(FIXTURE)).toEqual([
      "docs/decisions/02-other.md: its title does not begin with 2.",
      "docs/guide.md: decisions 7: there is no such section",
      "docs/guide.md: decisions 1.2: there is no such section",
      "src/broken.ts: decisions 1.3: there is no such section",
      "src/broken.ts: decisions 1.4: there is no such section",
      'src/broken.ts: interface "Prices": there is no such section',
      "src/broken.ts: interface 3: there is no such section",
      "src/broken.ts: architecture 9.1: there is no such section",
      "src/broken.ts: design 1: there is no such section",
      "src/broken.ts: decision 1.1: there is no such section",
      "src/broken.ts: decisions 1.1: a comma and a space belong behind the word",
    ]);
  });
});

describe("relative links", () => {
  it("of this repository lead to files and anchors that exist", () => {
    expect(linkFaults(ROOT)).toEqual([]);
  });

  it("that lead nowhere are named", () => {
    expect(linkFaults(FIXTURE)).toEqual([
      "docs/guide.md: missing.md leads nowhere",
      "docs/guide.md: decisions/01-shop.md#13-refunds leads nowhere",
      "docs/guide.md: #nothing leads nowhere",
      "docs/guide.md: ../src/sound.ts#L1 leads nowhere",
    ]);
  });

  it("find headings by the names that GitHub gives them", () => {
    const text =
      "# A `code` & more\n\n## 4.1 Record\n\n## Record\n\n## Record\n\n```\n# none\n```\n\n## [Link](x.md), end.\n";
    expect([...anchorsOf(text)]).toEqual(["a-code--more", "41-record", "record", "record-1", "link-end"]);
  });
});
