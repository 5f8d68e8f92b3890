/** Paths in documents exist, and no code names a file outside the checkout: only a variable may. */
import path from "node:path";

import { describe, expect, it } from "vitest";

import { namedPathFaults, outsideFaults } from "./paths.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const FIXTURE = path.join(import.meta.dirname, "fixtures/paths");

describe("paths", () => {
  it("in documents of this repository exist", () => {
    expect(namedPathFaults(ROOT)).toEqual([]);
  });

  it("in documents that do not exist are named", () => {
    expect(namedPathFaults(FIXTURE)).toEqual(["README.md: libs/one/src/missing.ts does not exist"]);
  });

  it("in code of this repository stay in the checkout", () => {
    expect(outsideFaults(ROOT)).toEqual([]);
  });

  it("in code that leave the checkout are named", () => {
    expect(outsideFaults(FIXTURE)).toEqual([
      "libs/one/src/reads.mjs: ../../../../beside/data.csv is outside the checkout",
      "libs/one/src/reads.mjs: ../beside/data.csv is outside the checkout",
      "libs/one/src/reads.mjs: /home/somebody/data.csv is outside the checkout",
    ]);
  });
});
