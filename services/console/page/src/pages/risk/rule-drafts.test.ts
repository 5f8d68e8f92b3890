import { type RiskRule, RiskRules } from "@kapi/contracts";
import { describe, expect, it } from "vitest";

import { changesOf, draftOf, issueOf, createDraft, rulesOf } from "./rule-drafts.ts";

const DAILY: RiskRule = {
  id: "daily",
  type: "dailyLoss",
  limit: { percent: 4.5 },
  basis: "higher",
  timeZone: "Europe/Prague",
  dayStart: "17:00",
  warnAt: 80,
  action: "flatten_and_disable",
};
const RULES: RiskRule[] = [
  DAILY,
  { id: "total", type: "maxLoss", limit: { percent: 10 }, trailing: "equity", lockAt: 10_000, action: "disable" },
  { id: "fixed", type: "maxLoss", limit: { amount: 500.5 }, startValue: 9_000, action: "close_only" },
  { id: "target", type: "profitTarget", target: { amount: 800 }, basis: "balance", action: "notify" },
];

describe("rules that are edited", () => {
  it("stay the same if nothing is changed, and are valid by the schema of the API", () => {
    const edited = rulesOf(RULES.map((rule) => draftOf(rule)));
    expect(edited).toEqual({ rules: RULES });
    expect(RiskRules.parse("rules" in edited ? edited.rules : null)).toEqual(RULES);
  });

  it("accept numbers with a decimal comma or point; any other text is an issue of its field", () => {
    const draft = { ...createDraft("dailyLoss", []), limit: " 2,5 " };
    expect(rulesOf([draft])).toMatchObject({ rules: [{ limit: { percent: 2.5 } }] });
    expect(rulesOf([{ ...draft, limit: "2.5" }])).toMatchObject({ rules: [{ limit: { percent: 2.5 } }] });
    const wrong = rulesOf([draft, { ...draft, limit: "5 %", warnAt: "x" }]);
    const issues = "issues" in wrong ? wrong.issues : [];
    expect(issues.map(({ path }) => path.join("."))).toEqual(["rules.1.warnAt", "rules.1.limit"]);
    expect(issueOf(issues, 1, "limit")).toBe("Must be a number, such as 5 or 2.5.");
    expect(issueOf(issues, 0, "limit")).toBeNull();
  });

  it("reject a comma that may separate thousands", () => {
    const draft = { ...createDraft("maxLoss", []), limitIn: "amount" as const };
    for (const limit of ["10,000", "1,234,567", "0,125"]) {
      const wrong = rulesOf([{ ...draft, limit }]);
      expect(issueOf("issues" in wrong ? wrong.issues : [], 0, "limit")).toBe("Must be written without a comma.");
    }
  });

  it("have an id that no other rule has, if they are new", () => {
    const first = createDraft("maxLoss", []);
    expect([first.id, createDraft("maxLoss", [first]).id]).toEqual(["max-loss", "max-loss-2"]);
  });
});

it("the comparison of old and edited rules names the new, changed and removed rules; the order of fields does not count", () => {
  const { limit, ...rest } = DAILY;
  const reordered: RiskRule = { ...rest, limit };
  const [daily, total, fixed] = RULES as [RiskRule, RiskRule, RiskRule];
  expect(changesOf([daily, total], [reordered, total])).toEqual({ added: [], changed: [], removed: [] });
  const higher: RiskRule = { ...DAILY, limit: { percent: 6 } };
  expect(changesOf([daily, total], [higher, fixed])).toEqual({
    added: [fixed],
    changed: [{ from: daily, to: higher }],
    removed: [total],
  });
});
