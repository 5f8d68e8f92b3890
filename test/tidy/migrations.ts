import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** Folders whose members have migrations. */
const HOMES = ["libs", "services"];
const NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;
const NO_TRANSACTION = "-- no transaction";
/**
 * Comment above a statement: a release, and the reason why the statement breaks no process of this
 * or a later release.
 */
const CONTRACT = /^-- contract: (\d+\.\d+\.\d+) \S.{9,}$/m;
/** Comment above a statement: why a lock of the table is harmless, such as a small table. */
const LOCKS = /^-- locks: \S.{9,}$/m;

/** The form of each comment, for messages. */
const FORMS = { contract: "-- contract: <release> <reason>", locks: "-- locks: <reason>" } as const;

/** A rule for statements, with the comment that allows an exception. */
interface Rule {
  readonly exemption: "contract" | "locks";
  /** Whether the text of a {@link Statement} breaks the rule. */
  readonly breaks: (statement: string) => boolean;
  readonly why: string;
}

const NOT_NULL_WITHOUT_DEFAULT = /\badd (?:column )?(?:if not exists )?(?!constraint\b)[^,]*\bnot null\b[^,]*/g;

/**
 * Rules against statements that break or block processes of the previous release. These processes
 * run during and after a migration.
 */
const RULES: readonly Rule[] = [
  {
    exemption: "contract",
    breaks: (text) => /\bdrop (?!not null)/.test(text),
    why: "drops an object that running processes may use",
  },
  {
    exemption: "contract",
    breaks: (text) => /\brename\b/.test(text),
    why: "renames an object that running processes may use",
  },
  {
    exemption: "contract",
    breaks: (text) => /\balter (?:column )?\w+ (?:set data )?type\b/.test(text),
    why: "changes the type of a column, which rewrites the whole table",
  },
  {
    exemption: "contract",
    breaks: (text) =>
      /\bset not null\b/.test(text) ||
      [...text.matchAll(NOT_NULL_WITHOUT_DEFAULT)].some(([column]) => !/\bdefault\b|\bgenerated\b/.test(column)),
    why: "requires a value in a column that running processes do not write",
  },
  {
    exemption: "contract",
    breaks: (text) =>
      /\badd (?:constraint \w+ )?(?:check|unique|primary key|foreign key|exclude)\b/.test(text) ||
      /^create unique index\b/.test(text) ||
      /\badd (?:column )?[^,]*\b(?:check|unique|primary key|references)\b/.test(text),
    why: "adds a constraint that running processes may violate",
  },
  {
    exemption: "contract",
    breaks: (text) => /^(?:truncate|delete)\b/.test(text),
    why: "deletes rows that running processes may need",
  },
  {
    exemption: "locks",
    breaks: (text) => /^create (?:unique )?index (?!concurrently if not exists\b)/.test(text),
    why: "blocks writes while it builds an index: use `create index concurrently if not exists`, in a separate file whose first line is `-- no transaction`",
  },
  {
    exemption: "locks",
    breaks: (text) =>
      /\badd (?:column )?[^,]*(?:\bgenerated\b|\b(?:big|small)?serial\b|\bdefault (?:gen_random_uuid|uuidv7|random|clock_timestamp|nextval))/.test(
        text,
      ),
    why: "adds a column with a computed value in each row, which rewrites the whole table",
  },
  {
    exemption: "locks",
    breaks: (text) => /^update\b/.test(text),
    why: "changes rows in one transaction: let the new release change them in small batches",
  },
  {
    exemption: "locks",
    breaks: (text) => /^(?:lock|cluster|reindex|vacuum|do)\b|\b(?:attach|detach) partition\b/.test(text),
    why: "locks a table for an unknown time, or hides statements from this check",
  },
];

/** The faults of the migrations below `root`, one sentence each, and the number of files. */
export function migrationFaults(
  root: string,
  options: {
    /** Files that are older than these rules: the SHA-256 that databases record, by path. */
    readonly baseline: Readonly<Record<string, string>>;
    /** Released versions. */
    readonly released: ReadonlySet<string>;
  },
): { readonly faults: string[]; readonly files: number } {
  const folders = migrationFolders(root);
  const files = folders.flatMap((folder) => filesOf(root, folder));
  const faults = folders.flatMap((folder) => nameFaults(folder, filesOf(root, folder)));
  for (const [file, checksum] of Object.entries(options.baseline)) {
    if (!files.includes(file)) faults.push(`${file}: is a released migration, but is missing`);
    else if (recordedChecksumOf(path.join(root, file)) !== checksum)
      faults.push(`${file}: is a released migration, but has changed`);
  }
  for (const file of files.filter((one) => !(one in options.baseline))) {
    const text = readFileSync(path.join(root, file), "utf8");
    faults.push(...fileFaults(text, options.released).map((fault) => `${file}: ${fault}`));
  }
  return { faults, files: files.length };
}

/**
 * The SHA-256 that databases record for a file, in hexadecimal: that of its bytes, or of its bytes
 * before its comments were corrected. `migrate` of `@kapi/postgres` throws if more than comments
 * was changed.
 */
function recordedChecksumOf(file: string): string {
  const correctedFile = path.join(path.dirname(file), "corrected.json");
  if (existsSync(correctedFile)) {
    const corrected = JSON.parse(readFileSync(correctedFile, "utf8")) as Record<string, { checksum: string }>;
    const recorded = corrected[path.basename(file)];
    if (recorded !== undefined) return recorded.checksum;
  }
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

function migrationFolders(root: string): string[] {
  return HOMES.filter((home) => existsSync(path.join(root, home)))
    .flatMap((home) => readdirSync(path.join(root, home)).map((name) => path.join(home, name, "migrations")))
    .filter((folder) => existsSync(path.join(root, folder)));
}

function filesOf(root: string, folder: string): string[] {
  const names = readdirSync(path.join(root, folder)).filter((name) => name.endsWith(".sql"));
  return names.toSorted().map((name) => path.join(folder, name));
}

function nameFaults(folder: string, files: readonly string[]): string[] {
  const numbers = files.map((file) => NAME.exec(path.basename(file))?.[1]);
  const unnamed = files.filter((_, index) => numbers[index] === undefined);
  const twice = new Set(numbers.filter((number, index) => number !== undefined && numbers.indexOf(number) !== index));
  return [
    ...unnamed.map((file) => `${file}: name migrations like 0001_create_orders.sql`),
    ...[...twice].map((number) => `${folder}: two migrations have the number ${number}`),
  ];
}

function fileFaults(text: string, released: ReadonlySet<string>): string[] {
  const statements = statementsOf(text);
  const own = new Set(statements.flatMap(({ sql }) => /^create table (?:if not exists )?(\w+)/.exec(sql)?.[1] ?? []));
  const faults = statements.flatMap(({ sql, comment }) => {
    if (isAboutOwn(sql, own)) return [];
    const broken = RULES.filter((rule) => rule.breaks(sql)).filter(({ exemption }) => {
      return !(exemption === "locks" ? LOCKS.test(comment) : released.has(CONTRACT.exec(comment)?.[1] ?? ""));
    });
    return broken.map(
      ({ why, exemption }) => `"${sql.slice(0, 60)}" ${why} (or give the reason in a comment \`${FORMS[exemption]}\`)`,
    );
  });
  const alone = text.startsWith(NO_TRANSACTION);
  if (alone && statements.length !== 1) faults.push("a file without a transaction must have exactly one statement");
  if (!alone && statements.some(({ sql }) => /^create (?:unique )?index concurrently\b/.test(sql))) {
    faults.push("`create index concurrently` needs a separate file whose first line is `-- no transaction`");
  }
  return faults;
}

/** Whether a statement changes a table that its file creates. No process uses this table yet. */
function isAboutOwn(sql: string, own: ReadonlySet<string>): boolean {
  const table =
    /^(?:alter table (?:only )?(?:if exists )?|update (?:only )?|delete from (?:only )?|lock table )(\w+)/.exec(
      sql,
    )?.[1] ?? /^create (?:unique )?index\b.*? on (?:only )?(\w+)/.exec(sql)?.[1];
  return table !== undefined && own.has(table);
}

/** Empties all brackets, because a comma in brackets does not end a clause. */
function withoutBrackets(text: string): string {
  const emptied = text.replaceAll(/\([^()]*\)/g, "[]");
  return emptied === text ? text : withoutBrackets(emptied);
}

interface Statement {
  /** Lower case, with single spaces. Comments, quoted text and text in brackets are removed. */
  readonly sql: string;
  /** The `--` comments before and in the statement. */
  readonly comment: string;
}

/** The statements of a file. Words and semicolons in quoted text and in comments do not count. */
function statementsOf(text: string): Statement[] {
  const blank = text.replaceAll(/--[^\n]*|\/\*[\s\S]*?\*\/|\$(\w*)\$[\s\S]*?\$\1\$|'(?:[^']|'')*'/g, (found) =>
    found.startsWith("--") || found.startsWith("/*") ? found.replaceAll(";", ",") : "''",
  );
  return blank.split(";").flatMap((part) => {
    const comment = (part.match(/--[^\n]*/g) ?? []).join("\n");
    const sql = withoutBrackets(part.replaceAll(/--[^\n]*|\/\*[\s\S]*?\*\//g, " "))
      .replaceAll('"', "")
      .replaceAll(/\s+/g, " ")
      .trim()
      .toLowerCase();
    return sql === "" ? [] : [{ sql, comment }];
  });
}
