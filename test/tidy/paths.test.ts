/**
 * Paths in documents exist. Code has no path that leaves the checkout upwards, or that is in a
 * personal folder of one machine.
 */
import path from "node:path";

import { describe, expect, it } from "vitest";

import { namedPathFaults, outsideFaults } from "./paths.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const FIXTURE = path.join(import.meta.dirname, "fixtures/paths");

describe("paths", () => {
  it("in documents of this repository exist", () => {
    expect(namedPathFaults(ROOT)).toEqual([]);
  });

  it("in documents are reported if they do not exist", () => {
    expect(namedPathFaults(FIXTURE)).toEqual(["README.md: libs/one/src/missing.ts does not exist"]);
  });

  it("in code of this repository stay in the checkout", () => {
    expect(outsideFaults(ROOT)).toEqual([]);
  });

  it("in code are reported if they leave the checkout", () => {
    expect(outsideFaults(FIXTURE)).toEqual([
      "libs/one/src/reads.mjs: ../../../../beside/data.csv is outside the checkout",
      "libs/one/src/reads.mjs: ../beside/data.csv is outside the checkout",
      "libs/one/src/reads.mjs: /home/somebody/data.csv is outside the checkout",
    ]);
  });
});
