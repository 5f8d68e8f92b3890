/**
 * New migrations only add: processes of the previous release run during and after a migration
 * (docs/upgrades.md). Migrations in migrations-baseline.json are older than this rule, and none of
 * them may change.
 */
import { readFileSync } from "node:fs";
import path from "node:path";

import { describe, expect, it } from "vitest";

import baseline from "./migrations-baseline.json" with { type: "json" };
import { migrationFaults } from "./migrations.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const FIXTURES = path.join(import.meta.dirname, "fixtures/migrations");
const RELEASE = /^## (\d+\.\d+\.\d+)$/gm;
const RELEASED = new Set(["1.2.0"]);

/** The faults in a fixture; none of its migrations is released. */
function faultsOf(fixture: string): string[] {
  return migrationFaults(path.join(FIXTURES, fixture), { baseline: {}, released: RELEASED }).faults;
}

describe("the migrations", () => {
  it("break no process of the previous release", () => {
    const changelog = readFileSync(path.join(ROOT, "CHANGELOG.md"), "utf8");
    const released = new Set(Array.from(changelog.matchAll(RELEASE), ([, version = ""]) => version));
    expect(released.size).toBeGreaterThan(0);
    const { faults, files } = migrationFaults(ROOT, { baseline, released });
    expect(faults).toEqual([]);
    expect(files).toBeGreaterThanOrEqual(Object.keys(baseline).length);
    expect(files).toBeGreaterThan(15);
  });

  it("that break a process are reported, with the reason for each statement", () => {
    const faults = faultsOf("breaking").map((fault) => fault.replace(/ \(or say why not.*$/, ""));
    expect(faults).toMatchInlineSnapshot(`
      [
        "services/shop/migrations: two migrations have the number 0006",
        "services/shop/migrations/0002_drop.sql: "drop table items" drops what running processes may use (of an index: what their statements find their rows by)",
        "services/shop/migrations/0002_drop.sql: "alter table orders drop column note" drops what running processes may use (of an index: what their statements find their rows by)",
        "services/shop/migrations/0002_drop.sql: "drop index orders_by_day" drops what running processes may use (of an index: what their statements find their rows by)",
        "services/shop/migrations/0002_drop.sql: "alter table orders alter column note drop default" drops what running processes may use (of an index: what their statements find their rows by)",
        "services/shop/migrations/0003_rename.sql: "alter table orders rename to sales" renames what running processes use",
        "services/shop/migrations/0003_rename.sql: "alter table orders rename column note to remark" renames what running processes use",
        "services/shop/migrations/0004_columns.sql: "alter table orders alter column amount type bigint" changes the type of a column, and writes the whole table anew",
        "services/shop/migrations/0004_columns.sql: "alter table orders alter amount set data type bigint" changes the type of a column, and writes the whole table anew",
        "services/shop/migrations/0004_columns.sql: "alter table orders add column day date not null" makes a column not null that running processes leave out",
        "services/shop/migrations/0004_columns.sql: "alter table orders add column one text, add column two text " makes a column not null that running processes leave out",
        "services/shop/migrations/0004_columns.sql: "alter table orders alter column note set not null" makes a column not null that running processes leave out",
        "services/shop/migrations/0004_columns.sql: "alter table orders add column id uuid default gen_random_uui" adds a column whose values are made row by row, and writes the whole table anew",
        "services/shop/migrations/0004_columns.sql: "alter table orders add column number bigserial" adds a column whose values are made row by row, and writes the whole table anew",
        "services/shop/migrations/0005_constraints.sql: "alter table orders add constraint positive check [] not vali" adds a constraint that running processes do not know of",
        "services/shop/migrations/0005_constraints.sql: "alter table orders add column customer uuid references custo" adds a constraint that running processes do not know of",
        "services/shop/migrations/0005_constraints.sql: "create unique index concurrently if not exists orders_number" adds a constraint that running processes do not know of",
        "services/shop/migrations/0005_constraints.sql: "create index orders_by_day on orders []" builds an index while nobody may write: \`create index concurrently if not exists\`, in a file of its own whose first line is \`-- no transaction\`",
        "services/shop/migrations/0005_constraints.sql: an index that is built concurrently has a file of its own, whose first line is \`-- no transaction\`",
        "services/shop/migrations/0006_again.sql: without a transaction a file has one statement",
        "services/shop/migrations/0006_rows.sql: "update orders set note = ''" changes rows in one transaction: the new release fills them in, a piece at a time",
        "services/shop/migrations/0006_rows.sql: "delete from orders where amount = 0" deletes rows that running processes may need",
        "services/shop/migrations/0006_rows.sql: "truncate orders" deletes rows that running processes may need",
        "services/shop/migrations/0006_rows.sql: "do ''" holds a table for as long as it takes, or hides what it does",
        "services/shop/migrations/0006_rows.sql: "lock table orders" holds a table for as long as it takes, or hides what it does",
      ]
    `);
  });

  it("are accepted if they only add, concern a table that they create, or give a valid reason", () => {
    expect(faultsOf("adding")).toEqual([]);
  });

  it("are reported if their reason names an unknown release, or says nothing", () => {
    expect(faultsOf("unfounded")).toHaveLength(3);
  });

  it("that were applied are reported if they have changed or are missing", () => {
    const gone = "services/shop/migrations/0009_gone.sql";
    const changed = "services/shop/migrations/0001_create_items.sql";
    const options = { baseline: { [gone]: "", [changed]: "" }, released: RELEASED };
    expect(migrationFaults(path.join(FIXTURES, "adding"), options).faults).toEqual([
      `${gone}: was applied already, and is missing`,
      `${changed}: was applied already, and has changed`,
    ]);
  });
});
