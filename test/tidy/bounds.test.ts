/**
 * `docs/reference/bounds.md` lists exactly the topics, tables and Redis keys of the code, and the
 * limits of data in memory. Each row has a size, and the same retention as the code.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

import { TOPICS, type TopicContract } from "@kapi/contracts";
import { describe, expect, it } from "vitest";

import { limitsOfCode } from "./bounds.ts";
import { readPrograms } from "./secrets.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const PROGRAMS = readPrograms(readFileSync(path.join(ROOT, "deploy/programs.json"), "utf8"));
/** Services whose schema has the tables of `libs/commands`. */
const WORKERS = new Set(["account", "finance", "export", "risk"]);
/** Services whose schema has the tables of `libs/digests`. */
const DIGESTS = new Set(["account", "finance"]);
/** Services whose schema has the tables of `libs/bridge`. */
const BRIDGES = new Set(["trading-simulator"]);
const CREATED = /^\s*create table (?:if not exists )?(\w+)/gim;
const DROPPED = /^\s*drop table (?:if exists )?(\w+)/gim;
/** Matches the kind of a key: the word after the shard, or the first words of a console's key. */
const KEY_NAMES = [/\(shard\)\}:([a-z]+)/g, /`\{?(console:[a-z-]+(?::[a-z]+)?|sign-in\}?:[a-z]+)/g];
/** The files that declare Redis keys. */
const REDIS_KEY_FILES = [
  "libs/admission/src/redis/keys.ts",
  "services/console/src/outbound/redis/console-sessions.ts",
  "services/console/src/outbound/redis/pending-sign-ins.ts",
  "services/console/src/outbound/redis/recovery-limits.ts",
  "services/console/src/outbound/redis/sign-in-attempts.ts",
];
const LIMIT = /^`(?<text>(?<name>[A-Z_]+) = [^`]+)` in `(?<file>[^`]+)`$/;
/** A limit that is a setting. */
const SETTING = /^`(?<name>[A-Z_]+)`$/;
/**
 * A row without a limit, because its data grows with accounts or organizations. The row names the
 * variable or field that holds the data.
 */
const WITHOUT_LIMIT = /^none: `(?<name>#?\w+)` in `(?<file>[^`]+)`$/;

const COMMAND_MONTHS = "services/command-status/src/config.ts DEFAULT_KEPT_MONTHS";
const CREDIT_MONTHS = "services/organization/src/config.ts DEFAULT_KEPT_MONTHS";
const WEBHOOK_DAYS = "services/webhooks/src/operations/keep-days.ts KEPT_DAYS";
const DIGEST_DAYS = "libs/contracts/src/http/digests.ts DIGEST_RETENTION_DAYS";
const PURCHASE_TTL = "libs/admission/src/redis/wallet-functions.ts PURCHASED_TTL_MS";
const REQUEST_DAYS = "libs/contracts/src/http/console-requests.ts REQUEST_LOG_DAYS";
/** By row: the constants for the numbers in its column "kept", in the order of the numbers. */
const NUMBERS: Readonly<Record<string, readonly string[]>> = {
  "account.deal_digests": [DIGEST_DAYS],
  "command_status.commands_by_month": [COMMAND_MONTHS],
  "console.requests": [REQUEST_DAYS, "services/console/src/config.ts DEFAULT_REQUESTS_PER_DAY"],
  "console.omitted_requests": [REQUEST_DAYS],
  "console.request_days": [REQUEST_DAYS],
  "finance.transaction_digest_counts": [DIGEST_DAYS],
  "finance.transaction_digests": [DIGEST_DAYS],
  "metrics.account_metric_hours": ["services/metrics/src/operations/store-snapshots.ts KEPT_DAYS"],
  "metrics.account_metric_snapshots": ["services/metrics/src/operations/store-snapshots.ts KEPT_DAYS"],
  "organization.credit_entries": [CREDIT_MONTHS],
  "organization.tags": ["libs/admission/src/redis/keys.ts SHARD_COUNT"],
  "risk.evidence": ["services/risk/src/operations/delete-old-evidence.ts KEPT_DAYS"],
  "webhooks.account_events": [WEBHOOK_DAYS],
  "webhooks.events": [WEBHOOK_DAYS],
  "webhooks.deliveries": [WEBHOOK_DAYS, "services/webhooks/src/outbound/postgres/delivery-store.ts KEPT_ATTEMPTS"],
  "webhooks.waiting_events": [
    "services/webhooks/src/domain/source-order.ts MAX_WAIT_MS",
    "services/webhooks/src/domain/source-order.ts MAX_OTHER_SOURCE_WAIT_MS",
    "services/webhooks/src/domain/source-order.ts MAX_WAITING",
  ],
  meta: ["libs/admission/src/redis/keys.ts SHARD_COUNT"],
  usage: ["libs/admission/src/redis/usage-stream.ts USAGE_STREAM_LIMIT"],
  bucket: ["libs/admission/src/redis/kapi.lua BUCKET_SPARE_MS"],
  charge: ["libs/admission/src/redis/admission-functions.ts CHARGE_TTL_MS"],
  claim: [
    "libs/admission/src/redis/admission-functions.ts RECORD_TTL_MS",
    "libs/admission/src/redis/admission-functions.ts FINAL_RECORD_TTL_MS",
  ],
  settled: ["libs/admission/src/redis/wallet-functions.ts SETTLED_TTL_MS", PURCHASE_TTL],
  "console:session": [
    "services/console/src/domain/session-life.ts SESSION_IDLE_MS",
    "services/console/src/domain/session-life.ts SESSION_ABSOLUTE_MS",
  ],
  "console:sessions-of": ["services/console/src/domain/session-life.ts SESSION_ABSOLUTE_MS"],
  "console:pending": ["services/console/src/operations/sign-in-with-provider.ts PROVIDER_LIFE_MS"],
  "console:recovery:email": ["services/console/src/outbound/redis/recovery-limits.ts RECOVERY_WINDOW_MS"],
  "sign-in:email": ["services/console/src/outbound/redis/sign-in-attempts.ts SIGN_IN_WINDOW_MS"],
  "sign-in:known": ["services/console/src/outbound/redis/sign-in-attempts.ts KNOWN_NETWORK_MS"],
};
const NUMBER = /(?<count>\d[\d,]*)(?: (?<unit>second|minute|hour|day|month)s?\b)?/g;
/** A size, at the start of the last cell of a row. */
const BYTES = /^~?(\d[\d,]*)/;
const UNITS_MS = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

function read(file = ""): string {
  return readFileSync(path.join(ROOT, file), "utf8");
}

/** The rows of the table below a heading: the cells of each, without their padding. */
function rowsBelow(heading: string): string[][] {
  const page = read("docs/reference/bounds.md");
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

/** The tables that exist after the migrations of a folder. */
function tablesOf(folder: string): string[] {
  const tables = new Set<string>();
  for (const file of readdirSync(path.join(ROOT, folder, "migrations")).toSorted()) {
    const text = read(path.join(folder, "migrations", file));
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
    const shared = [
      ...(WORKERS.has(service) ? tablesOf(path.join("libs", "commands")) : []),
      ...(DIGESTS.has(service) ? tablesOf(path.join("libs", "digests")) : []),
      ...(BRIDGES.has(service) ? tablesOf(path.join("libs", "bridge")) : []),
    ];
    const schema = PROGRAMS.get(service)?.schema ?? service.replaceAll("-", "_");
    return [...own, ...shared].map((table) => `${schema}.${table}`);
  });
}

function keptFor({ cleanup, retentionMs = 0 }: TopicContract): string {
  if (cleanup === "compact") return "compacted";
  const hours = retentionMs / 3_600_000;
  const [count, unit] = hours % 24 === 0 ? [hours / 24, "day"] : [hours, "hour"];
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** A number with its unit. Times are in milliseconds, so that 24 hours equal 1 day. */
function quantityOf(count: number, unit: string): string {
  const ms = UNITS_MS[unit as keyof typeof UNITS_MS];
  return ms === undefined ? `${count} ${unit}`.trim() : `${count * ms} ms`;
}

function numbersIn(cell: string): string[] {
  return Array.from(cell.matchAll(NUMBER), ([, count = "", unit = ""]) =>
    quantityOf(Number(count.replaceAll(",", "")), unit),
  );
}

/** The value of the constant `<file> <name>`. The end of its name gives the unit. */
async function valueOf(place: string): Promise<string> {
  const [file = "", name = ""] = place.split(" ");
  const value = file.endsWith(".lua")
    ? Number(new RegExp(`^local ${name} = (\\d+)$`, "m").exec(read(file))?.[1])
    : ((await import(path.join(ROOT, file))) as Record<string, unknown>)[name];
  if (typeof value !== "number" || Number.isNaN(value)) throw new Error(`${place} is not an exported number`);
  if (name.endsWith("_MS")) return `${value} ms`;
  return quantityOf(value, /_(?<unit>DAY|MONTH)S$/.exec(name)?.groups?.["unit"]?.toLowerCase() ?? "");
}

/** The sum of a cell such as `a` + 2 × `b`, from the sizes of the rows `a` and `b`. */
function sumOf(cell: string): number {
  const rows = ["Topics", "Tables", "Redis keys"].flatMap((heading) => rowsBelow(heading));
  const bytes = new Map(
    rows.map((row) => [row[0] ?? "", Number(BYTES.exec(row.at(-1) ?? "")?.[1]?.replaceAll(",", ""))]),
  );
  return cell.split(" + ").reduce((sum, part) => {
    const { times = "1", name = "" } = /^(?:(?<times>\d+) × )?(?<name>`[^`]+`)$/.exec(part)?.groups ?? {};
    return sum + Number(times) * (bytes.get(name) ?? Number.NaN);
  }, 0);
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

  it("has every table that the migrations create and do not drop", () => {
    expect(tablesOfServices().length).toBeGreaterThan(30);
    expect(namesBelow("Tables").toSorted()).toEqual(tablesOfServices().toSorted());
  });

  it("has every kind of Redis key", () => {
    const source = REDIS_KEY_FILES.map((file) => read(file)).join("");
    const kinds = KEY_NAMES.flatMap((form) =>
      Array.from(source.matchAll(form), ([, kind = ""]) => kind.replace("}", "")),
    );
    expect(kinds.length).toBeGreaterThan(8);
    expect(namesBelow("Redis keys").toSorted()).toEqual([...new Set(kinds)].toSorted());
  });

  it("has no empty cell, and the same limits of data in memory as the code", () => {
    for (const heading of ["Topics", "Tables", "Redis keys", "Memory"]) {
      expect(rowsBelow(heading).length, heading).toBeGreaterThan(5);
      for (const row of rowsBelow(heading))
        expect(
          row.filter((cell) => cell === ""),
          row.join(" "),
        ).toEqual([]);
    }
    const settings = limitsOfCode(ROOT).bounds.map((place) => /config\.ts (?<name>\w+)$/.exec(place)?.groups?.["name"]);
    for (const [, limit = ""] of rowsBelow("Memory")) {
      const { text, file } = LIMIT.exec(limit)?.groups ?? {};
      const held = WITHOUT_LIMIT.exec(limit)?.groups;
      if (held !== undefined)
        expect(read(held["file"]), limit).toMatch(new RegExp(`${held["name"]}\\b.*new (?:Map|Set)`));
      else if (text === undefined) expect(settings).toContain(SETTING.exec(limit)?.groups?.["name"]);
      else expect(read(file), limit).toContain(`const ${text};`);
    }
  });

  it("has every limit of the code on stored data or data in memory, and each exception in bounds.ts is a limit of the code", () => {
    const { bounds, needless } = limitsOfCode(ROOT);
    const limits = rowsBelow("Memory").map(
      ([, limit = ""]) => LIMIT.exec(limit)?.groups ?? SETTING.exec(limit)?.groups,
    );
    const onPage = new Set([
      ...Object.values(NUMBERS).flat(),
      ...limits.map((limit) => `${limit?.["file"]} ${limit?.["name"]}`),
    ]);
    const page = read("docs/reference/bounds.md");
    const isOnPage = (place: string): boolean => {
      const [file = "", name] = place.split(" ");
      return onPage.has(place) || (file.endsWith("/config.ts") && page.includes(`\`${name}\``));
    };
    expect(bounds.filter((place) => !isOnPage(place))).toEqual([]);
    expect(needless).toEqual([]);
  });

  it("has the same retentions and counts as the code", async () => {
    for (const [name = "", , kept = ""] of [...rowsBelow("Tables"), ...rowsBelow("Redis keys")]) {
      const places = NUMBERS[name.replaceAll("`", "")] ?? [];
      expect(numbersIn(kept), name).toEqual(await Promise.all(places.map(valueOf)));
    }
  });

  it("has the size of each row, and the sums per command, account and sample", () => {
    for (const heading of ["Topics", "Tables", "Redis keys", "Memory"])
      for (const row of rowsBelow(heading)) expect(row.at(-1), row.join(" ")).toMatch(BYTES);
    const sums = rowsBelow("Per command, account and sample");
    expect(sums.length).toBeGreaterThan(5);
    for (const [of = "", parts = "", , bytes = ""] of sums)
      expect(bytes, `${of}: ${parts}`).toBe(sumOf(parts).toLocaleString("en"));
  });
});
