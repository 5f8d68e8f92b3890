import path from "node:path";

import { describe, expect, it } from "vitest";

import { nameFaults } from "./names.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const FIXTURE = path.join(import.meta.dirname, "fixtures/names");
const FILE = "services/shop/src/names.ts";

describe("names", () => {
  it("of functions and statements in this repository follow the rules (decisions, 18)", () => {
    expect(nameFaults(ROOT)).toEqual([]);
  });

  it("that break a rule (decisions, 18) are reported", () => {
    expect(nameFaults(FIXTURE)).toEqual(
      [
        "selectOrder is a statement: write it in capitals",
        "createPool returns Started: name it start…",
        "consumeOrders returns Started: name it start…",
        "makeOrder: name a factory create…",
        "addOrderRoutes adds routes: name it register…Routes",
      ].map((fault) => `${FILE}: ${fault}`),
    );
  });
});
