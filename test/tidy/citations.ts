import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";

import { filesBelow } from "./files.ts";

/** Files that may contain citations: code, SQL, scripts, settings and documents. */
const CITING = /\.(?:ts|tsx|js|mjs|sql|lua|md|sh|ya?ml)$/;

const DECISIONS = "docs/decisions";
/** `07-credits.md`: the record of section 7. */
const RECORD = /^(?<number>\d\d)-[a-z0-9-]+\.md$/;
/**
 * Pages whose sections are cited by number or by heading. Each key is the word with which such a
 * citation begins.
 */
const PAGES: Readonly<Record<string, string>> = {
  architecture: "docs/architecture.md",
  interface: "docs/reference/interface.md",
};

/** A line end within a comment of any language. */
const LINE_END = /\r?\n[ \t]*(?:\*|\/\/|--|#|>)?[ \t]*/g;
const PLACE = String.raw`(?:\d+(?:\.\d+)*|"[^"]+")`;
/**
 * `(decisions, 7.1)`, `(interface, "Limits")`, `(decisions, 1.1 and 7.1)`, and without a
 * parenthesis `Decisions, 7.1`. The pattern also matches wrong citations: with the word `design` or
 * `decision`, or without the comma.
 */
const CITATION = new RegExp(
  String.raw`(?<open>\()?\b(?<page>[Dd]ecisions?|design|architecture|interface)(?<comma>[,:]? ?)(?<places>${PLACE}(?:(?:, | and )${PLACE})*)`,
  "g",
);
const FENCED = /^[ \t]*(?<marker>```+|~~~+)[\s\S]*?^[ \t]*\k<marker>[ \t]*$/gm;
const INLINE_CODE = /(?<ticks>`+)(?!`)[\s\S]*?(?<!`)\k<ticks>(?!`)/g;
const HEADING = /^(?<marks>#{1,6}) +(?<text>.+?) *$/gm;
const LINK = /\[(?:[^[\]]|\[[^\]]*\])*\]\((?<target>[^()\s]+)(?:\s+"[^"]*")?\)/g;
const OTHER_SITE = /^[a-z][a-z0-9+.-]*:/i;

/** The parts of a citation: `decisions`, `, ` and `1.1 and 7.1`. */
export interface Citation {
  readonly file: string;
  readonly page: string;
  /** The text between the word and the places. It must be `, `. */
  readonly comma: string;
  readonly places: string;
}

/**
 * Faults below `root`, one text each:
 * - A citation names a section that its page lacks. The pages are `docs/decisions`,
 *   `docs/architecture.md` and `docs/reference/interface.md`.
 * - A citation has no comma and space after the word.
 * - A decision record has different numbers in its title and its file name.
 */
export function citationFaults(root: string): string[] {
  const records = recordsOf(root);
  const pages = new Map(Object.entries(PAGES).map(([word, file]) => [word, readIfThere(path.join(root, file))]));
  const faults = Array.from(records.values()).flatMap(({ file, text, number }) =>
    headingsOf(text)[0]?.startsWith(`${number}. `) === true ? [] : [`${file}: the title must begin with ${number}.`],
  );
  for (const { file, page, comma, places } of citationsBelow(root)) {
    if (comma !== ", ") {
      faults.push(`${file}: ${page} ${places}: write a comma and a space after the word`);
      continue;
    }
    for (const place of missingPlaces(page, places, records, pages)) {
      faults.push(`${file}: ${page} ${place}: no such section`);
    }
  }
  return faults;
}

/** Every citation below `root`, including malformed ones. */
export function citationsBelow(root: string): Citation[] {
  const files = filesBelow(root).filter((file) => CITING.test(file));
  return files.flatMap((file) => {
    const text = readFileSync(path.join(root, file), "utf8").replaceAll(LINE_END, " ");
    return Array.from(text.matchAll(CITATION), ({ groups }) => groups ?? {})
      .filter(({ open, comma }) => open !== undefined || comma === ", ")
      .map(({ page = "", comma = "", places = "" }) => ({ file, page: page.toLowerCase(), comma, places }));
  });
}

/** Relative links in Markdown below `root` whose file or anchor is missing. */
export function linkFaults(root: string): string[] {
  const documents = filesBelow(root).filter((file) => file.endsWith(".md"));
  return documents.flatMap((file) => {
    const text = readFileSync(path.join(root, file), "utf8").replaceAll(FENCED, "").replaceAll(INLINE_CODE, "code");
    return Array.from(text.matchAll(LINK), ({ groups }) => groups?.["target"] ?? "")
      .filter((target) => !OTHER_SITE.test(target) && !leadsSomewhere(root, file, target))
      .map((target) => `${file}: ${target}: no such file or anchor`);
  });
}

/** The anchors that GitHub gives the headings of a document. */
export function anchorsOf(text: string): Set<string> {
  const seen = new Map<string, number>();
  const anchors = headingsOf(text).map((heading) => {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const name = words.replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, "").replaceAll(" ", "-");
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    return before === 0 ? name : `${name}-${before}`;
  });
  return new Set(anchors);
}

interface DecisionRecord {
  /** Number of the section, without leading zeros. */
  readonly number: string;
  readonly file: string;
  readonly text: string;
}

/** The decision records, by number. */
function recordsOf(root: string): ReadonlyMap<string, DecisionRecord> {
  const folder = path.join(root, DECISIONS);
  const names = existsSync(folder) ? readdirSync(folder).toSorted() : [];
  return new Map(
    names.flatMap((name) => {
      const digits = RECORD.exec(name)?.groups?.["number"];
      if (digits === undefined) return [];
      const number = String(Number(digits));
      const text = readFileSync(path.join(folder, name), "utf8");
      return [[number, { number, file: `${DECISIONS}/${name}`, text }] as const];
    }),
  );
}

/** The places of one citation that its page lacks. */
function missingPlaces(
  page: string,
  places: string,
  records: ReadonlyMap<string, DecisionRecord>,
  pages: ReadonlyMap<string, string>,
): string[] {
  let heading: string | null = null;
  return Array.from(places.matchAll(new RegExp(PLACE, "g")), ([place]) => place).filter((place) => {
    if (place.startsWith('"')) {
      heading = place.slice(1, -1);
      return !headingsOf(pages.get(page) ?? "").includes(heading);
    }
    // A number after a heading is an item of a list in that section.
    if (heading !== null) return !hasItem(pages.get(page) ?? "", heading, place);
    if (page !== "decisions") return !hasNumber(pages.get(page) ?? "", place);
    const [section = ""] = place.split(".");
    const record = records.get(section);
    return record === undefined || !hasNumber(record.text, place);
  });
}

/** Whether a heading begins with the number `place`: `7. Credits`, `7.1 Prices`. */
function hasNumber(text: string, place: string): boolean {
  const beginning = place.includes(".") ? `${place} ` : `${place}. `;
  return headingsOf(text).some((heading) => heading.startsWith(beginning));
}

/** Whether the section below a heading has the item `number` of a list. */
function hasItem(text: string, heading: string, number: string): boolean {
  const sections = text.split(/^#{1,6} +/m);
  const section = sections.find((one) => one.startsWith(`${heading}\n`)) ?? "";
  return section.split("\n").some((line) => line.startsWith(`${number}. `));
}

function headingsOf(text: string): string[] {
  return Array.from(text.replaceAll(FENCED, "").matchAll(HEADING), ({ groups }) => groups?.["text"] ?? "");
}

function leadsSomewhere(root: string, from: string, target: string): boolean {
  const [file = "", anchor] = target.split("#", 2);
  const to = file === "" ? path.join(root, from) : path.resolve(root, path.dirname(from), decodeURI(file));
  if (!existsSync(to)) return false;
  if (anchor === undefined || statSync(to).isDirectory() || !to.endsWith(".md")) return anchor === undefined;
  return anchorsOf(readFileSync(to, "utf8")).has(anchor);
}

function readIfThere(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}
