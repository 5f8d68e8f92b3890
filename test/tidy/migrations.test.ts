/**
 * New migrations only add, because processes of the previous release run during and after a
 * migration (docs/upgrades.md). A comment gives the reason for an exception. The migrations in
 * migrations-baseline.json are older than this rule, and must not change.
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

/** The faults of a fixture. None of its migrations is in the baseline. */
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

  it("are reported if they break a process, with the reason for each statement", () => {
    const faults = faultsOf("breaking").map((fault) => fault.replace(/ \(or give the reason.*$/, ""));
    expect(faults).toMatchInlineSnapshot(`
      [
        "services/shop/migrations: two migrations have the number 0006",
        "services/shop/migrations/0002_drop.sql: "drop table items" drops an object that running processes may use",
        "services/shop/migrations/0002_drop.sql: "alter table orders drop column note" drops an object that running processes may use",
        "services/shop/migrations/0002_drop.sql: "drop index orders_by_day" drops an object that running processes may use",
        "services/shop/migrations/0002_drop.sql: "alter table orders alter column note drop default" drops an object that running processes may use",
        "services/shop/migrations/0003_rename.sql: "alter table orders rename to sales" renames an object that running processes may use",
        "services/shop/migrations/0003_rename.sql: "alter table orders rename column note to remark" renames an object that running processes may use",
        "services/shop/migrations/0004_columns.sql: "alter table orders alter column amount type bigint" changes the type of a column, which rewrites the whole table",
        "services/shop/migrations/0004_columns.sql: "alter table orders alter amount set data type bigint" changes the type of a column, which rewrites the whole table",
        "services/shop/migrations/0004_columns.sql: "alter table orders add column day date not null" requires a value in a column that running processes do not write",
        "services/shop/migrations/0004_columns.sql: "alter table orders add column one text, add column two text " requires a value in a column that running processes do not write",
        "services/shop/migrations/0004_columns.sql: "alter table orders alter column note set not null" requires a value in a column that running processes do not write",
        "services/shop/migrations/0004_columns.sql: "alter table orders add column id uuid default gen_random_uui" adds a column with a computed value in each row, which rewrites the whole table",
        "services/shop/migrations/0004_columns.sql: "alter table orders add column number bigserial" adds a column with a computed value in each row, which rewrites the whole table",
        "services/shop/migrations/0005_constraints.sql: "alter table orders add constraint positive check [] not vali" adds a constraint that running processes may violate",
        "services/shop/migrations/0005_constraints.sql: "alter table orders add column customer uuid references custo" adds a constraint that running processes may violate",
        "services/shop/migrations/0005_constraints.sql: "create unique index concurrently if not exists orders_number" adds a constraint that running processes may violate",
        "services/shop/migrations/0005_constraints.sql: "create index orders_by_day on orders []" blocks writes while it builds an index: use \`create index concurrently if not exists\`, in a separate file whose first line is \`-- no transaction\`",
        "services/shop/migrations/0005_constraints.sql: \`create index concurrently\` needs a separate file whose first line is \`-- no transaction\`",
        "services/shop/migrations/0006_again.sql: a file without a transaction must have exactly one statement",
        "services/shop/migrations/0006_rows.sql: "update orders set note = ''" changes rows in one transaction: let the new release change them in small batches",
        "services/shop/migrations/0006_rows.sql: "delete from orders where amount = 0" deletes rows that running processes may need",
        "services/shop/migrations/0006_rows.sql: "truncate orders" deletes rows that running processes may need",
        "services/shop/migrations/0006_rows.sql: "do ''" locks a table for an unknown time, or hides statements from this check",
        "services/shop/migrations/0006_rows.sql: "lock table orders" locks a table for an unknown time, or hides statements from this check",
      ]
    `);
  });

  it("are accepted if they only add, change only a table that they create, or give a valid reason", () => {
    expect(faultsOf("adding")).toEqual([]);
  });

  it("are reported if their reason names no release, names an unknown release, or is too short", () => {
    expect(faultsOf("unfounded")).toHaveLength(3);
  });

  it("are reported if they are in the baseline and have changed or are missing", () => {
    const gone = "services/shop/migrations/0009_gone.sql";
    const changed = "services/shop/migrations/0001_create_items.sql";
    const options = { baseline: { [gone]: "", [changed]: "" }, released: RELEASED };
    expect(migrationFaults(path.join(FIXTURES, "adding"), options).faults).toEqual([
      `${gone}: is a released migration, but is missing`,
      `${changed}: is a released migration, but has changed`,
    ]);
  });
});
