/**
 * Each citation in code, tests and documents names an existing section. Each relative link names an
 * existing file and anchor.
 */
import path from "node:path";

import { describe, expect, it } from "vitest";

import { anchorsOf, citationFaults, citationsBelow, linkFaults } from "./citations.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const FIXTURE = path.join(import.meta.dirname, "fixtures/citations");

describe("citations", () => {
  it("of this repository name existing sections", () => {
    expect(citationFaults(ROOT)).toEqual([]);
  });

  it("are found in code, SQL, tests and documents", () => {
    const files = new Set(citationsBelow(ROOT).map(({ file }) => file));
    for (const place of ["libs/", "services/", "test/", "docs/", "deploy/"]) {
      expect(Array.from(files).some((file) => file.startsWith(place))).toBe(true);
    }
    expect(Array.from(files).some((file) => file.endsWith(".sql"))).toBe(true);
  });

  it("of missing sections are reported", () => {
    expect(citationFaults(FIXTURE)).toEqual([
      "docs/decisions/02-other.md: the title must begin with 2.",
      "docs/guide.md: decisions 7: no such section",
      "docs/guide.md: decisions 1.2: no such section",
      "src/broken.ts: decisions 1.3: no such section",
      "src/broken.ts: decisions 1.4: no such section",
      'src/broken.ts: interface "Prices": no such section',
      "src/broken.ts: interface 3: no such section",
      "src/broken.ts: architecture 9.1: no such section",
      "src/broken.ts: design 1: no such section",
      "src/broken.ts: decision 1.1: no such section",
      "src/broken.ts: decisions 1.1: write a comma and a space after the word",
      "src/broken.ts: decisions 8: no such section",
    ]);
  });
});

describe("relative links", () => {
  it("of this repository name existing files and anchors", () => {
    expect(linkFaults(ROOT)).toEqual([]);
  });

  it("to missing files and anchors are reported", () => {
    expect(linkFaults(FIXTURE)).toEqual([
      "docs/guide.md: missing.md: no such file or anchor",
      "docs/guide.md: decisions/01-shop.md#13-refunds: no such file or anchor",
      "docs/guide.md: #nothing: no such file or anchor",
      "docs/guide.md: ../src/sound.ts#L1: no such file or anchor",
    ]);
  });

  it("find headings by the anchors of GitHub", () => {
    const text =
      "# A `code` & more\n\n## 4.1 Record\n\n## Record\n\n## Record\n\n```\n# none\n```\n\n## [Link](x.md), end.\n";
    expect([...anchorsOf(text)]).toEqual(["a-code--more", "41-record", "record", "record-1", "link-end"]);
  });
});
