/**
 * `docs/reference/bounds.md` names everything that is stored, and nothing else: topics, tables, Redis keys and the limits of what
 * processes hold in memory, as the code has them.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

import { TOPICS, type TopicContract } from "@kapi/contracts";
import { describe, expect, it } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../..");
/** Services whose schema has the tables of `libs/commands`. */
const WORKERS = new Set(["account", "finance", "export"]);
const CREATED = /^\s*create table (?:if not exists )?(\w+)/gim;
const DROPPED = /^\s*drop table (?:if exists )?(\w+)/gim;
/** The kind of a key: after the shard, or the first two words of the console's. */
const KEY_NAMES = [/\(tag\)\}:([a-z]+)/g, /`\{?(console:session|sign-in\}?:[a-z]+)/g];
const LIMIT = /^`(?<text>(?<name>[A-Z_]+) = [^`]+)` in `(?<file>[^`]+)`$/;
const SETTING = /^`(?<name>[A-Z_]+)`$/;

/** The cells of the table below a heading, without their padding. */
function rowsBelow(heading: string): string[][] {
  const page = readFileSync(path.join(ROOT, "docs/reference/bounds.md"), "utf8");
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? "";
  const lines = section.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

function namesBelow(heading: string): string[] {
  return rowsBelow(heading).map(([name = ""]) => name.replaceAll("`", ""));
}

/** The tables that the migrations of a folder leave. */
function tablesOf(folder: string): string[] {
  const tables = new Set<string>();
  for (const file of readdirSync(path.join(ROOT, folder, "migrations")).toSorted()) {
    const text = readFileSync(path.join(ROOT, folder, "migrations", file), "utf8");
    for (const [, name = ""] of text.matchAll(CREATED)) tables.add(name);
    for (const [, name = ""] of text.matchAll(DROPPED)) tables.delete(name);
  }
  return [...tables];
}

function tablesOfServices(): string[] {
  const services = readdirSync(path.join(ROOT, "services"));
  return services.flatMap((service) => {
    const own = readdirSync(path.join(ROOT, "services", service)).includes("migrations")
      ? tablesOf(path.join("services", service))
      : [];
    const shared = WORKERS.has(service) ? tablesOf(path.join("libs", "commands")) : [];
    return [...own, ...shared].map((table) => `${service.replaceAll("-", "_")}.${table}`);
  });
}

function keptFor({ cleanup, retentionMs = 0 }: TopicContract): string {
  if (cleanup === "compact") return "compacted";
  const hours = retentionMs / 3_600_000;
  const [count, unit] = hours % 24 === 0 ? [hours / 24, "day"] : [hours, "hour"];
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

describe("the page of bounds", () => {
  it("has every topic, with its retention", () => {
    const topics: readonly TopicContract[] = Object.values(TOPICS);
    const said = Object.fromEntries(
      rowsBelow("Topics").map(([name = "", kept = ""]) => [name.replaceAll("`", ""), kept]),
    );
    expect(Object.keys(said).toSorted()).toEqual(topics.map(({ name }) => name).toSorted());
    for (const topic of topics) expect(said[topic.name], topic.name).toMatch(new RegExp(`^${keptFor(topic)}\\b`));
  });

  it("has every table that the migrations leave", () => {
    expect(tablesOfServices().length).toBeGreaterThan(30);
    expect(namesBelow("Tables").toSorted()).toEqual(tablesOfServices().toSorted());
  });

  it("has every kind of Redis key", () => {
    const source = readFileSync(path.join(ROOT, "libs/redis/src/keys.ts"), "utf8");
    const kinds = KEY_NAMES.flatMap((form) =>
      Array.from(source.matchAll(form), ([, kind = ""]) => kind.replace("}", "")),
    );
    expect(kinds.length).toBeGreaterThan(8);
    expect(namesBelow("Redis keys").toSorted()).toEqual([...new Set(kinds)].toSorted());
  });

  it("says what bounds each, and the limits are those of the code", () => {
    for (const heading of ["Topics", "Tables", "Redis keys", "Memory"]) {
      expect(rowsBelow(heading).length, heading).toBeGreaterThan(5);
      for (const row of rowsBelow(heading))
        expect(
          row.filter((cell) => cell === ""),
          row.join(" "),
        ).toEqual([]);
    }
    for (const [, limit = ""] of rowsBelow("Memory")) {
      const { text, file } = LIMIT.exec(limit)?.groups ?? {};
      if (text === undefined || file === undefined) expect(limit).toMatch(SETTING);
      else expect(readFileSync(path.join(ROOT, file), "utf8"), limit).toContain(`const ${text};`);
    }
  });
});
