import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** Folders whose members have migrations and statements. */
const HOMES = ["libs", "services"];
const CREATED_TABLE = /^create table (?:if not exists )?(\w+)/gm;
const SELECTED = /(?<!insert into \w+ )\bselect \* from (\w+)/g;
const OF_ALIAS = /(?<=\bselect |, )(\w+)\.\*/g;

/**
 * Statements of the house below `root` whose result has all columns of a table, one sentence each.
 * A migration that adds a column ends such a statement for good on every connection that prepared
 * it: `cached plan must not change result type`.
 */
export function statementFaults(root: string): string[] {
  const files = HOMES.flatMap((home) => filesBelow(path.join(root, home)));
  const tables = new Set(
    files
      .filter((file) => file.endsWith(".sql"))
      .flatMap((file) => Array.from(readFileSync(file, "utf8").matchAll(CREATED_TABLE), ([, table = ""]) => table)),
  );
  return files
    .filter((file) => file.endsWith(".ts") && file.includes(`${path.sep}src${path.sep}`))
    .flatMap((file) =>
      faultsOf(readFileSync(file, "utf8"), tables).map((fault) => `${path.relative(root, file)}: ${fault}`),
    );
}

function faultsOf(text: string, tables: ReadonlySet<string>): string[] {
  const faults = text.includes("returning *") ? ["returning *"] : [];
  for (const [all, table = ""] of text.matchAll(SELECTED)) if (tables.has(table)) faults.push(all);
  for (const [all, alias = ""] of text.matchAll(OF_ALIAS)) {
    const named = new RegExp(String.raw`\b(?:from|join)\s+(?:\$\{\w+\})?(\w+)\s+(?:as\s+)?${alias}\b`, "g");
    const isTable = tables.has(alias) || Array.from(text.matchAll(named)).some(([, table = ""]) => tables.has(table));
    if (isTable) faults.push(all);
  }
  return faults;
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes("node_modules"))
    .map((entry) => path.join(entry.parentPath, entry.name));
}
