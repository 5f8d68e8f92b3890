import type { RiskRule, RiskTemplateSelection } from "@kapi/contracts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { firstSelected, isSelected, rulesFromTemplates, type Template, type TemplateVersion } from "./template.ts";

const RULE: RiskRule = { id: "max", type: "maxLoss", limit: { percent: 10 }, action: "notify" };
const ACCOUNT = { accountName: "Phase 1 Ada", status: "active" } as const;

function template(name: string, changes: Partial<Template> = {}): Template {
  return {
    name,
    version: 1,
    firstVersion: 1,
    state: "active",
    organizationId: "organization",
    rules: [RULE],
    appliesTo: { nameStartsWith: "Phase 1" },
    newAccounts: true,
    commandId: "command",
    ...changes,
  };
}

/** The template and number of rules that the account gets: `a/1 1`; null: it keeps its rules. */
function given(
  rulesFrom: TemplateVersion | "own" | null,
  templates: readonly Template[],
  appliedName: string | null = null,
): string | null {
  const found = rulesFromTemplates(ACCOUNT, rulesFrom, templates, appliedName);
  return found === null ? null : `${found.template.name}/${found.template.version} ${found.rules.length}`;
}

describe("the selection of a template", () => {
  it.each<[RiskTemplateSelection, boolean]>([
    [{ nameStartsWith: "Phase 1" }, true],
    [{ nameStartsWith: "phase 1" }, false],
    [{ nameStartsWith: "Ada" }, false],
    [{ nameStartsWith: "Phase 1 Ada and more" }, false],
    [{ status: ["disabled", "active"] }, true],
    [{ status: ["disabled"] }, false],
    [{ status: ["active"], nameStartsWith: "Phase 2" }, false],
  ])("%o matches the account: %s", (selection, expected) => {
    expect(isSelected(selection, ACCOUNT)).toBe(expected);
  });

  it.each(["pending", "failed", "deleting"] as const)("has no account that is %s", (status) => {
    expect(isSelected({ nameStartsWith: "Phase 1" }, { ...ACCOUNT, status })).toBe(false);
  });
});

describe("the rules that an account gets from templates", () => {
  it("are those of the first template that matches, in the order in which the templates were created", () => {
    expect(
      given(null, [template("a", { appliesTo: { nameStartsWith: "Phase 2" } }), template("b"), template("c")]),
    ).toBe("b/1 1");
  });

  it("never replace rules that were set on the account", () => {
    fc.assert(
      fc.property(fc.boolean(), fc.constantFrom("active", "deleted", "removed"), (newAccounts, state) => {
        expect(given("own", [template("a", { newAccounts, state })], "a")).toBeNull();
      }),
    );
  });

  it("change to those of a template without newAccounts only while this template is applied", () => {
    const existing = template("a", { newAccounts: false });
    expect(given(null, [existing])).toBeNull();
    expect(given(null, [existing], "a")).toBe("a/1 1");
    expect(given({ name: "a", version: 1 }, [existing, template("b")], "b")).toBeNull();
  });

  it("follow the template that they came from while no other matches; a deletion of that template keeps or removes the rules", () => {
    const elsewhere = { appliesTo: { nameStartsWith: "Funded" }, version: 2 };
    const from = { name: "a", version: 1 };
    expect(given(from, [template("a", elsewhere)])).toBe("a/2 1");
    expect(given(from, [template("a", elsewhere), template("b")])).toBe("b/1 1");
    expect(given(from, [template("a", { state: "deleted", version: 2 })])).toBeNull();
    expect(given(from, [template("a", { state: "removed", version: 2 })])).toBe("a/2 0");
    expect(given({ name: "a", version: 2 }, [template("a", { state: "removed", version: 2 })])).toBeNull();
  });

  it("do not follow a new template that has the name of their deleted template", () => {
    const again = template("a", { version: 3, firstVersion: 3, appliesTo: { nameStartsWith: "Funded" } });
    expect(given({ name: "a", version: 1 }, [again], "a")).toBeNull();
  });

  it("are final: the same comparison again changes nothing, whatever template is applied", () => {
    const names = ["a", "b", "c"] as const;
    const one = fc.record({
      state: fc.constantFrom("active", "deleted", "removed"),
      newAccounts: fc.boolean(),
      version: fc.integer({ min: 1, max: 3 }),
      appliesTo: fc.constantFrom({ nameStartsWith: "Phase 1" }, { nameStartsWith: "Other" }),
    });
    const from = fc.option(fc.record({ name: fc.constantFrom(...names), version: fc.integer({ min: 1, max: 3 }) }));
    fc.assert(
      fc.property(
        fc.tuple(one, one, one),
        from,
        fc.option(fc.constantFrom(...names)),
        (changes, rulesFrom, applied) => {
          const templates = names.map((name, index) => template(name, changes[index]));
          const found = rulesFromTemplates(ACCOUNT, rulesFrom, templates, applied);
          if (found === null) return;
          const { name, version } = found.template;
          expect(rulesFromTemplates(ACCOUNT, { name, version }, templates, applied)).toBeNull();
        },
      ),
    );
  });
});

it("`firstSelected` finds the first active template that selects an account, with or without newAccounts", () => {
  const templates = [
    template("deleted", { state: "deleted" }),
    template("other", { appliesTo: { nameStartsWith: "Other" } }),
    template("existing", { newAccounts: false }),
    template("new"),
  ];
  expect(firstSelected(templates, ACCOUNT)?.name).toBe("existing");
  expect(firstSelected(templates, { ...ACCOUNT, accountName: "Nobody" })).toBeNull();
});
