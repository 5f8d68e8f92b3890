import { readFileSync } from "node:fs";
import path from "node:path";

import { filesBelow } from "./files.ts";

const CREATED_TABLE = /^create table (?:if not exists )?(\w+)/gm;
const SELECTED = /(?<!insert into \w+ )\bselect \* from (\w+)/g;
const OF_ALIAS = /(?<=\bselect |, )(\w+)\.\*/g;

/**
 * Statements below `root` whose result has all columns of a table. Each text has the file and the
 * part of the statement that selects the columns. After a migration that adds a column, such a
 * statement fails on every connection that prepared it: `cached plan must not change result type`.
 */
export function statementFaults(root: string): string[] {
  const files = filesBelow(root);
  const textOf = (file: string): string => readFileSync(path.join(root, file), "utf8");
  const tables = new Set(
    files
      .filter((file) => file.endsWith(".sql"))
      .flatMap((file) => Array.from(textOf(file).matchAll(CREATED_TABLE), ([, table = ""]) => table)),
  );
  return files
    .filter((file) => file.endsWith(".ts") && file.includes("/src/"))
    .flatMap((file) => faultsOf(textOf(file), tables).map((fault) => `${file}: ${fault}`));
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
