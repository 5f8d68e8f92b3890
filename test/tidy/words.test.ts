/**
 * The project uses the usual words for its concepts. Comments have at most 100 columns. Prose has
 * at most 120. `words.json` counts the places that still break a rule. The sum of a rule's counts
 * may only fall. `npm run word-counts` writes lower counts.
 */
import path from "node:path";
import { describe, expect, it } from "vitest";

import { areaOf, checksOf, lowered, placesBelow, placesIn, readRules, type Rules, wordFaults } from "./words.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const RULES: Rules = {
  "mend|mends": { write: '"repair"', left: {} },
  FanOut: { write: '"hub"', left: {} },
  "*Book": { write: '"repository"', left: {} },
  "is told": { write: '"gets"', left: {} },
};

function found(text: string, rules = RULES, file = "libs/one/src/two.ts"): string[] {
  return placesIn(file, text, checksOf(rules)).map((place) => `${place.line} ${place.found}`);
}

describe("the words of this repository", () => {
  const rules = readRules(ROOT);
  const places = placesBelow(ROOT, rules);

  it("break no rule in more places than words.json allows", () => {
    expect(wordFaults(places, rules)).toEqual([]);
  });

  it("are searched in code, tests, documents, SQL, the console and the chart", () => {
    const everywhere = placesBelow(ROOT, { letter: { write: "", pattern: "^(?=.*[a-z])", left: {} } });
    const files = new Set(everywhere.map(({ file }) => file));
    for (const end of [".ts", ".tsx", ".test.ts", ".md", ".yaml", ".mjs", ".sql"])
      expect([...files].filter((file) => file.endsWith(end)).length).toBeGreaterThan(0);
  });
});

describe("a banned word", () => {
  it("is found as a word, in identifiers and in constants", () => {
    expect(found("// mend it\nconst mendAll = MEND_MS;\nfunction toMend(mends: number) {}")).toEqual([
      "1 mend",
      "2 mend",
      "2 MEND",
      "3 Mend",
      "3 mends",
    ]);
  });

  it("is found in the name of a file", () => {
    expect(found("", RULES, "libs/one/src/mend-all.ts")).toEqual(["0 mend"]);
  });

  it("is not found within another word", () => {
    expect(found("amend, mendel, recommend, commendable, MENDEL")).toEqual([]);
  });

  it("with a capital matches only this spelling", () => {
    expect(found("class SocketFanOut {} // fan-out, fanout, fanOut")).toEqual(["1 FanOut"]);
  });

  it("with a star matches the end of identifiers", () => {
    expect(found("class AccountBook {}\nBook a flight; Booking; AccountBooking")).toEqual(["1 AccountBook"]);
  });

  it("of several words is found in lower and upper case", () => {
    expect(found("Is told what it is. This told")).toEqual(["1 Is told"]);
  });

  it("is reported with its place and the word to write", () => {
    const places = placesIn("docs/a.md", "one\nto mend", checksOf(RULES));
    expect(wordFaults(places, RULES)).toEqual(['docs/a.md:2 "mend": write "repair"']);
  });
});

describe("the word leg", () => {
  const { "leg|legs": rule } = readRules(ROOT);
  const rules = { legs: rule } as Rules;

  it("may be the name of the column and the table in SQL", () => {
    const sql = [
      "insert into credit_legs (charge_id, leg, credits) select leg, credits from unnest($1) as given (charge_id, leg)",
      "select line.leg as kind, case leg when 'settle' then 1 end from credit_legs where kept.leg = given.leg",
      "and given.leg in ('reserve', 'settle') and leg = 'settle' order by page.charge_id desc, page.leg desc",
      "leg text not null, constraint credit_legs_before_months check (epoch < 1)",
      "The kind is stored in the column `leg`.",
    ];
    expect(found(sql.join("\n"), rules)).toEqual([]);
  });

  it("is found in code and prose", () => {
    const code = "legs of a charge\nconst leg = legOf(row.leg);\n{ leg, newLegs }\nLEGS\n`leg`\nentry.leg === kind";
    expect(found(code, rules)).toEqual([
      "1 legs",
      "2 leg",
      "2 leg",
      "2 leg",
      "3 leg",
      "3 Legs",
      "4 LEGS",
      "5 leg",
      "6 leg",
    ]);
  });
});

describe("the places of a banned word that are left", () => {
  const rules: Rules = { mend: { write: '"repair"', left: { docs: 1, "libs/one": 2 } } };
  const inDocs = placesIn("docs/a.md", "mend", checksOf(rules));
  const twoInDocs = placesIn("docs/a.md", "mend\nmend", checksOf(rules));

  it("may be as many as the count of their area", () => {
    expect(wordFaults(inDocs, rules)).toEqual([]);
    expect(wordFaults(twoInDocs, rules)).toEqual([
      'docs has 2 of "mend", and may have 1; all of them, old and new:',
      'docs/a.md:1 "mend": write "repair"',
      'docs/a.md:2 "mend": write "repair"',
    ]);
    expect(wordFaults(placesIn("test/a.ts", "mend", checksOf(rules)), rules)).toHaveLength(1);
  });

  it("are listed if there are too many, but at most 50 of them", () => {
    const [title, ...listed] = wordFaults(placesIn("docs/a.md", "mend\n".repeat(51), checksOf(rules)), rules);
    expect(title).toBe('docs has 51 of "mend", and may have 1; the first 50, old and new:');
    expect(listed).toHaveLength(50);
  });

  it("can be counted again if their number did not grow, even if they moved to other areas", () => {
    expect(lowered(inDocs, rules)["mend"]?.left).toEqual({ docs: 1 });
    expect(lowered([...twoInDocs, ...inDocs], rules)["mend"]?.left).toEqual({ docs: 3 });
    expect(() => lowered([...twoInDocs, ...twoInDocs], rules)).toThrow('"mend" has 4 places, and had 3');
  });

  it("belong to a library, a service, a folder of tests, docs or the root", () => {
    const files = [
      "libs/one/src/a.ts",
      "services/two/README.md",
      "test/live/a.ts",
      "test/a.mjs",
      "docs/b/c.md",
      "a.md",
    ];
    expect(files.map(areaOf)).toEqual(["libs/one", "services/two", "test/live", "test", "docs", "."]);
  });
});

describe("the width", () => {
  const { "comment over 100 columns": comment, "prose over 120 columns": prose } = readRules(ROOT);
  const rules = { comment, prose } as Rules;
  const wide = "x ".repeat(60).trim();

  it("of a comment is at most 100 columns", () => {
    const text = `// ${"x".repeat(97)}\n  // ${"x".repeat(96)}\n/** ${wide} */\n * ${wide}\nconst code = ${wide}`;
    expect(placesIn("a.ts", text, checksOf(rules)).map(({ line }) => line)).toEqual([2, 3, 4]);
  });

  it("of prose is at most 120 columns, but not of tables and code", () => {
    const text = `${"x".repeat(120)}\n${"x".repeat(121)}\n| ${wide}xx |\n\`\`\`sh\n${wide}xx\n\`\`\`\n- ${wide}xx`;
    expect(placesIn("a.md", text, checksOf(rules)).map(({ line }) => line)).toEqual([2, 7]);
  });
});
