/**
 * Words that the project does not use, and the width of comments and prose. `words.json` has each
 * rule, the replacement, and the number of places that are left in each area. The sum of a rule's
 * numbers may only fall.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";

import { filesBelow } from "./files.ts";

const Rule = z.strictObject({
  /** The replacement. */
  write: z.string().min(1),
  /** A regular expression, used instead of the words in the name of the rule. */
  pattern: z.string().optional(),
  /** A regular expression for the paths of the checked files. */
  files: z.string().optional(),
  /** Checks only prose: neither code blocks nor tables of a document. */
  prose: z.boolean().optional(),
  /** Number of places that each area still has. Other areas must have none. */
  left: z.record(z.string(), z.int().min(1)),
});
export type Rule = z.infer<typeof Rule>;
/**
 * Rules by name. A name has one or more words, separated by `|`. `mend` also matches `Mend`,
 * `mendAll` and `MEND_MS`, but not `amend`. `FanOut` matches only this spelling, also within an
 * identifier. `*Book` matches every identifier that ends with `Book`. A phrase with spaces, such as
 * `is told`, matches in lower and upper case.
 */
export const Rules = z.record(z.string(), Rule);
export type Rules = Readonly<Record<string, Rule>>;

/** One place with a word that the project does not use. Line 0 is the path of the file. */
export interface Place {
  readonly rule: string;
  readonly file: string;
  readonly line: number;
  readonly found: string;
}

const TEXT = /(\.(ts|tsx|mjs|md|sql|json|ya?ml|tpl|py|css|html|sh)|Dockerfile)$/;
/**
 * Generated files, history, patches of packages, these rules, lists of migrations by their names,
 * and the contract with users, whose words are fixed.
 */
const EXEMPT =
  /^(package-lock\.json|CHANGELOG\.md|patches\/.*|libs\/client\/src\/generated\/.*|docs\/reference\/(interface\.md|.*\.json)|test\/tidy\/words.*|test\/tidy\/migrations-baseline\.json|.*\/migrations\/corrected\.json)$/;
const RULES_FILE = "test/tidy/words.json";

/** The rules in `words.json` of the repository at `root`. */
export function readRules(root: string): Rules {
  return Rules.parse(JSON.parse(readFileSync(path.join(root, RULES_FILE), "utf8")));
}

/** Every place in text files below `root`, except {@link EXEMPT}. */
export function placesBelow(root: string, rules: Rules): Place[] {
  const checks = checksOf(rules);
  return filesBelow(root)
    .filter((file) => TEXT.test(file) && !EXEMPT.test(file))
    .flatMap((file) => placesIn(file, readFileSync(path.join(root, file), "utf8"), checks));
}

/** A compiled rule. */
interface Check {
  readonly rule: string;
  readonly expression: RegExp;
  readonly files: RegExp;
  readonly prose: boolean;
}

/** Compiles rules for {@link placesIn}. */
export function checksOf(rules: Rules): Check[] {
  return Object.entries(rules).map(([rule, { pattern, files = "", prose = false }]) => ({
    rule,
    expression: new RegExp(pattern ?? patternOf(rule), "gm"),
    files: new RegExp(files),
    prose,
  }));
}

/** The places in one file and in its path. */
export function placesIn(file: string, text: string, checks: readonly Check[]): Place[] {
  const content = `${file}\n${text}`;
  return checks
    .filter(({ files }) => files.test(file))
    .flatMap(({ rule, expression, prose }) =>
      [...content.matchAll(expression)]
        .map(({ 0: found, index }) => ({ rule, file, line: lineOf(content, index), found }))
        .filter(({ line }) => !prose || isProse(content, line)),
    );
}

/** The number of a line, from 0. Line 0 is the path. */
function lineOf(content: string, index: number): number {
  return content.slice(0, index).split("\n").length - 1;
}

/** Whether a line of a document is neither its path nor in a code block or table. */
function isProse(content: string, line: number): boolean {
  const before = content.split("\n").slice(0, line + 1);
  const fences = before.filter((one) => /^\s*```/.test(one)).length;
  return line > 0 && fences % 2 === 0 && before.at(-1)?.startsWith("|") !== true;
}

/** The regular expression for the words in the name of a rule. */
function patternOf(name: string): string {
  return name.split("|").map(wordPattern).join("|");
}

function wordPattern(word: string): string {
  if (word.includes(" ")) return `\\b${word.replaceAll(/[a-z]/gi, eitherCase)}\\b`;
  if (word.startsWith("*")) return `\\b[A-Za-z]+${word.slice(1)}(?![a-z])`;
  const first = word[0] ?? "";
  const inner = `${first.toUpperCase()}${word.slice(1)}(?![a-z])`;
  if (first === first.toUpperCase()) return inner;
  return `(?<![A-Za-z])${word}(?![a-z])|${inner}|(?<![A-Za-z])${word.toUpperCase()}(?![A-Za-z])`;
}

function eitherCase(letter: string): string {
  return `[${letter.toLowerCase()}${letter.toUpperCase()}]`;
}

/**
 * The part of the repository that a file belongs to: `libs/http`, `docs`, or `.` for a file of the
 * root.
 */
export function areaOf(file: string): string {
  const [top = "", second = "", ...rest] = file.split("/");
  if (second === "") return ".";
  return top === "docs" || rest.length === 0 ? top : `${top}/${second}`;
}

/** Number of places by rule and area. */
export function countsOf(places: readonly Place[]): Map<string, Map<string, number>> {
  const counts = new Map<string, Map<string, number>>();
  for (const { rule, file } of places) {
    const ofRule = counts.get(rule) ?? new Map<string, number>();
    counts.set(rule, ofRule);
    ofRule.set(areaOf(file), (ofRule.get(areaOf(file)) ?? 0) + 1);
  }
  return counts;
}

/** Maximum number of listed places of an area in which `words.json` allows some places. */
const MAX_LISTED_PLACES = 50;

/** The places of every area that has more places of a rule than `words.json` allows. */
export function wordFaults(places: readonly Place[], rules: Rules): string[] {
  return [...countsOf(places)].flatMap(([rule, areas]) =>
    [...areas].flatMap(([area, count]) => {
      const allowed = rules[rule]?.left[area] ?? 0;
      if (count <= allowed) return [];
      const lines = places.filter((place) => place.rule === rule && areaOf(place.file) === area);
      const write = rules[rule]?.write ?? "";
      const faults = lines.map(({ file, line, found }) => `${file}:${line} "${found}": write ${write}`);
      if (allowed === 0) return faults;
      const listed = count > MAX_LISTED_PLACES ? `the first ${MAX_LISTED_PLACES}` : "all of them";
      const title = `${area} has ${count} of "${rule}", and may have ${allowed}; ${listed}, old and new:`;
      return [title].concat(faults.slice(0, MAX_LISTED_PLACES));
    }),
  );
}

/**
 * The rules with the current counts. Places may move between areas.
 * @throws Error for a rule with more places than before.
 */
export function lowered(places: readonly Place[], rules: Rules): Rules {
  const counts = countsOf(places);
  return Object.fromEntries(
    Object.entries(rules).map(([rule, data]) => {
      const left = Object.fromEntries(
        [...(counts.get(rule) ?? [])].toSorted(([one], [other]) => (one < other ? -1 : 1)),
      );
      const [before, after] = [data.left, left].map((areas) => Object.values(areas).reduce((sum, n) => sum + n, 0));
      if ((after ?? 0) > (before ?? 0)) throw new Error(`"${rule}" has ${after} places, and had ${before}`);
      return [rule, { ...data, left }];
    }),
  );
}
