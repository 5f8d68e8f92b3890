import { expect, test } from "vitest";

import { assertIdentifier } from "./identifier.ts";
import { statement } from "./statement.ts";

test("a statement name that PostgreSQL would truncate is rejected", () => {
  expect(() => statement("x".repeat(64), "select 1")).toThrow("longer than 63 bytes");
  expect(statement("x".repeat(63), "select 1").name).toHaveLength(63);
});

test.each(["account", "command_status", "test_1"])("%s is accepted as a schema name", (name) => {
  expect(() => assertIdentifier(name)).not.toThrow();
});

test.each(["", "Account", "a-b", 'a"; drop schema b', "1a", "x".repeat(64)])(
  "%j is rejected as a schema name",
  (name) => {
    expect(() => assertIdentifier(name)).toThrow("not a plain PostgreSQL name");
  },
);
