import path from "node:path";

import { describe, expect, it } from "vitest";

import { statementFaults } from "./statements.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const FIXTURE = path.join(import.meta.dirname, "fixtures/statements");
const FILE = "services/shop/src/statements.ts";

describe("the statements", () => {
  it("of this repository name the columns of their results, so that a migration may add columns", () => {
    expect(statementFaults(ROOT)).toEqual([]);
  });

  it("are reported if they select all columns of a table", () => {
    expect(statementFaults(FIXTURE)).toEqual(
      ["returning *", "select * from orders", "o.*", "s.*", "orders.*"].map((fault) => `${FILE}: ${fault}`),
    );
  });
});
