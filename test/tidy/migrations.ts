import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** Folders whose members have migrations. */
const HOMES = ["libs", "services"];
const NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;
const NO_TRANSACTION = "-- no transaction";
/** Above a statement: the release since which no process does what the statement forbids. */
const CONTRACT = /^-- contract: (\d+\.\d+\.\d+) \S.{9,}$/m;
/** Above a statement: why the table is small, or nobody's yet, so that holding it hurts nobody. */
const LOCKS = /^-- locks: \S.{9,}$/m;

/** A rule that a statement can break, and how it may do so all the same. */
interface Rule {
  readonly exemption: "contract" | "locks";
  /** Of a statement as {@link Statement} has it. */
  readonly breaks: (statement: string) => boolean;
  readonly why: string;
}

const NOT_NULL_WITHOUT_DEFAULT = /\badd (?:column )?(?:if not exists )?(?!constraint\b)[^,]*\bnot null\b[^,]*/g;

/**
 * What breaks processes of the release before, which go on while the migration runs and after it.
 */
const RULES: readonly Rule[] = [
  {
    exemption: "contract",
    breaks: (text) => /\bdrop (?!not null)/.test(text),
    why: "drops what running processes may use (of an index: what their statements find their rows by)",
  },
  { exemption: "contract", breaks: (text) => /\brename\b/.test(text), why: "renames what running processes use" },
  {
    exemption: "contract",
    breaks: (text) => /\balter (?:column )?\w+ (?:set data )?type\b/.test(text),
    why: "changes the type of a column, and writes the whole table anew",
  },
  {
    exemption: "contract",
    breaks: (text) =>
      /\bset not null\b/.test(text) ||
      [...text.matchAll(NOT_NULL_WITHOUT_DEFAULT)].some(([column]) => !/\bdefault\b|\bgenerated\b/.test(column)),
    why: "makes a column not null that running processes leave out",
  },
  {
    exemption: "contract",
    breaks: (text) =>
      /\badd (?:constraint \w+ )?(?:check|unique|primary key|foreign key|exclude)\b/.test(text) ||
      /^create unique index\b/.test(text) ||
      /\badd (?:column )?[^,]*\b(?:check|unique|primary key|references)\b/.test(text),
    why: "adds a constraint that running processes do not know of",
  },
  {
    exemption: "contract",
    breaks: (text) => /^(?:truncate|delete)\b/.test(text),
    why: "deletes rows that running processes may need",
  },
  {
    exemption: "locks",
    breaks: (text) => /^create (?:unique )?index (?!concurrently if not exists\b)/.test(text),
    why: "builds an index while nobody may write: `create index concurrently if not exists`, in a file of its own whose first line is `-- no transaction`",
  },
  {
    exemption: "locks",
    breaks: (text) =>
      /\badd (?:column )?[^,]*(?:\bgenerated\b|\b(?:big|small)?serial\b|\bdefault (?:gen_random_uuid|uuidv7|random|clock_timestamp|nextval))/.test(
        text,
      ),
    why: "adds a column whose values are made row by row, and writes the whole table anew",
  },
  {
    exemption: "locks",
    breaks: (text) => /^update\b/.test(text),
    why: "changes rows in one transaction: the new release fills them in, a piece at a time",
  },
  {
    exemption: "locks",
    breaks: (text) => /^(?:lock|cluster|reindex|vacuum|do)\b|\b(?:attach|detach) partition\b/.test(text),
    why: "holds a table for as long as it takes, or hides what it does",
  },
];

/**
 * What is wrong with the migrations below `root`, one sentence each, and how many files were looked
 * at.
 */
export function migrationFaults(
  root: string,
  options: {
    /** Files that were there before these rules, by path, with the SHA-256 of their bytes. */
    readonly baseline: Readonly<Record<string, string>>;
    /** Versions that have been released. */
    readonly released: ReadonlySet<string>;
  },
): { readonly faults: string[]; readonly files: number } {
  const folders = migrationFolders(root);
  const files = folders.flatMap((folder) => filesOf(root, folder));
  const faults = folders.flatMap((folder) => nameFaults(folder, filesOf(root, folder)));
  for (const [file, checksum] of Object.entries(options.baseline)) {
    if (!files.includes(file)) faults.push(`${file}: was applied already, and is missing`);
    else if (checksumOf(path.join(root, file)) !== checksum)
      faults.push(`${file}: was applied already, and has changed`);
  }
  for (const file of files.filter((one) => !(one in options.baseline))) {
    const text = readFileSync(path.join(root, file), "utf8");
    faults.push(...fileFaults(text, options.released).map((fault) => `${file}: ${fault}`));
  }
  return { faults, files: files.length };
}

/** The SHA-256 of a file, in hexadecimal. */
function checksumOf(file: string): string {
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
    ...unnamed.map((file) => `${file}: migrations are named 0001_what_it_does.sql`),
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
      ({ why, exemption }) => `"${sql.slice(0, 60)}" ${why} (or say why not in a comment \`-- ${exemption}: …\`)`,
    );
  });
  const alone = text.startsWith(NO_TRANSACTION);
  if (alone && statements.length !== 1) faults.push("without a transaction a file has one statement");
  if (!alone && statements.some(({ sql }) => /^create (?:unique )?index concurrently\b/.test(sql))) {
    faults.push("an index that is built concurrently has a file of its own, whose first line is `-- no transaction`");
  }
  return faults;
}

/** Whether a statement concerns only a table that its own file makes: no process uses that yet. */
function isAboutOwn(sql: string, own: ReadonlySet<string>): boolean {
  const table =
    /^(?:alter table (?:only )?(?:if exists )?|update (?:only )?|delete from (?:only )?|lock table )(\w+)/.exec(
      sql,
    )?.[1] ?? /^create (?:unique )?index\b.*? on (?:only )?(\w+)/.exec(sql)?.[1];
  return table !== undefined && own.has(table);
}

/** Lists in brackets are left empty: a comma in them ends nothing. */
function withoutBrackets(text: string): string {
  const emptied = text.replaceAll(/\([^()]*\)/g, "[]");
  return emptied === text ? text : withoutBrackets(emptied);
}

interface Statement {
  /** Without comments, quoted text and what is in brackets, in lower case, its spaces single. */
  readonly sql: string;
  /** The comments before it and in it. */
  readonly comment: string;
}

/**
 * The statements of a file. What is quoted is blanked, so that no word or semicolon in it counts.
 */
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
