import type { Logger } from "@kapi/runtime";
import { TestClock, valuation } from "@kapi/testkit";
import { expect, it } from "vitest";

import type { AccountForRisk } from "../domain/ports.ts";
import type { SearchingTemplate, TemplateRepository, WaitingAccount } from "../domain/template-ports.ts";
import { TemplateApplier } from "./apply-risk-templates.ts";

const SILENT = { warn: () => undefined, error: () => undefined } as unknown as Logger;
const A_MINUTE_MS = 60_000;
class Unavailable extends Error {}
class Conflict extends Error {}

function waiting(serverId: string, accountNumber: string, changes: Partial<WaitingAccount> = {}): WaitingAccount {
  const fields = { templateName: "a", partition: 0, revision: 1, attempts: 0, rules: null };
  return { serverId, accountNumber, ...fields, ...changes };
}

function accountOf(serverId: string, accountNumber: string): AccountForRisk {
  const values = valuation({ serverId, accountNumber });
  const fields = {
    accountId: "id",
    organizationId: "organization",
    currency: "USD",
    accountName: "Ada",
    status: "active",
    initialBalanceMinor: 100,
  } as const;
  return { ...fields, valuation: values };
}

/** An applier whose storage has `accounts`, and records the operations on them. */
function setUp({
  accounts = [],
  templates = [],
  inactive = 0,
}: {
  accounts?: WaitingAccount[];
  templates?: SearchingTemplate[];
  inactive?: number;
}) {
  const clock = new TestClock(0);
  const done: string[] = [];
  const failing = new Map<string, Error>();
  /** The servers whose accounts were searched, in order. */
  const lists: string[] = [];
  const note = (what: string, some: readonly WaitingAccount[]): Promise<void> => {
    done.push(...some.map(({ serverId, accountNumber }) => `${what} ${serverId}/${accountNumber}`));
    return Promise.resolve();
  };
  const repository: Pick<
    TemplateRepository,
    "searching" | "due" | "waitingVersions" | "remove" | "postpone" | "apply" | "addFromTemplate" | "addSelected"
  > = {
    searching: () => Promise.resolve(templates),
    due: (_partitions, limit) => Promise.resolve(accounts.slice(0, limit)),
    waitingVersions: () => Promise.resolve(inactive),
    remove: (some) => note("removed", some),
    postpone: (some, _pauseMs, hasFailed) => note(hasFailed ? "failed" : "postponed", some),
    apply: async (account) => {
      await note("applied", [account]);
      return true;
    },
    addFromTemplate: ({ name }) => {
      done.push(`from ${name}`);
      return Promise.resolve();
    },
    addSelected: ({ name, selectedAfter }, some, isLast) => {
      done.push(`selected ${name} after ${selectedAfter}: ${some.length}${isLast ? ", all" : ""}`);
      return Promise.resolve();
    },
  };
  const failAt = (key: string): void => {
    const error = failing.get(key);
    if (error !== undefined) throw error;
  };
  const applier = new TemplateApplier({
    templates: repository as TemplateRepository,
    selected: {
      list: (serverId, _selection, after, limit) => {
        lists.push(serverId);
        failAt(`list ${serverId}`);
        return Promise.resolve(Array.from({ length: after === "" ? limit : 1 }, (_, index) => String(1_000 + index)));
      },
    },
    readAccount: async ({ serverId, accountNumber }) => {
      await Promise.resolve();
      failAt(serverId);
      failAt(`${serverId}/${accountNumber}`);
      return accountOf(serverId, accountNumber);
    },
    assigned: () => [0],
    partitionOf: () => 0,
    isUnavailable: (error) => error instanceof Unavailable,
    isConflict: (error) => error instanceof Conflict,
    clock,
    logger: SILENT,
  });
  return { applier, clock, done, failing, lists };
}

it("templates are applied on other servers while the accounts of one server are unavailable; that server is tried again later", async () => {
  const { applier, clock, done, failing } = setUp({
    accounts: [waiting("down", "1001"), waiting("up", "1001")],
  });
  failing.set("down", new Unavailable());
  await applier.round();
  expect(done.toSorted()).toEqual(["applied up/1001", "failed down/1001"]);
  failing.clear();
  await applier.round();
  expect(done.filter((one) => one.includes("down"))).toEqual(["failed down/1001"]);
  clock.advance(A_MINUTE_MS);
  await applier.round();
  expect(done).toContain("applied down/1001");
});

it("a round reads at most four accounts of an unavailable server; the next round does not report that more accounts can be compared", async () => {
  const accounts = Array.from({ length: 200 }, (_, index) => waiting("down", String(1_000 + index)));
  const { applier, done, failing } = setUp({ accounts });
  failing.set("down", new Unavailable());
  await applier.round();
  expect(done.length).toBeLessThanOrEqual(4);
  expect(await applier.round()).toBe(false);
  failing.clear();
  expect(await setUp({ accounts }).applier.round()).toBe(true);
});

it("a round continues with other accounts after an unexpected error, and leaves an account waiting after a conflict", async () => {
  const { applier, done, failing } = setUp({
    accounts: [waiting("one", "1001"), waiting("one", "1002"), waiting("one", "1003")],
  });
  failing.set("one/1001", new TypeError("unexpected"));
  failing.set("one/1002", new Conflict());
  await applier.round();
  expect(done.toSorted()).toEqual(["applied one/1003", "failed one/1001"]);
});

it("a round compares only changed accounts while many versions of rules are not active yet", async () => {
  const { applier, done } = setUp({
    accounts: [waiting("one", "1001", { templateName: null }), waiting("one", "1002")],
    inactive: 100,
  });
  await applier.round();
  expect(done).toEqual(["applied one/1001"]);
});

it("a round does not read an account with rules of its own, and postpones an account whose rules are not active yet and might still be discarded", async () => {
  const { applier, done, failing } = setUp({
    accounts: [waiting("one", "1001", { rules: "own" }), waiting("one", "1002", { rules: "uncertain" })],
  });
  failing.set("one", new TypeError("was read"));
  await applier.round();
  expect(done).toEqual(["removed one/1001", "postponed one/1002"]);
});

it("a round searches all accounts whose rules came from a template, then all accounts that the template selects", async () => {
  const template = { serverId: "one", version: 1, appliesTo: {}, fromTemplateAfter: null, selectedAfter: "" };
  const { applier, done } = setUp({
    templates: [
      { ...template, name: "begun", fromTemplateAfter: "" },
      { ...template, name: "first" },
      { ...template, name: "last", selectedAfter: "1999" },
    ],
  });
  await applier.round();
  expect(done).toEqual(["from begun", "selected first after : 1000", "selected last after 1999: 1, all"]);
});

it("if the account service does not answer a search, the search is repeated after a pause; waiting accounts are compared meanwhile", async () => {
  const template = { serverId: "one", name: "a", version: 1, appliesTo: {}, fromTemplateAfter: null };
  const { applier, clock, done, failing } = setUp({
    accounts: [waiting("one", "1001")],
    templates: [{ ...template, selectedAfter: "1999" }],
  });
  failing.set("list one", new Unavailable());
  await applier.round();
  failing.clear();
  await applier.round();
  expect(done).toEqual(["applied one/1001", "applied one/1001"]);
  clock.advance(A_MINUTE_MS);
  await applier.round();
  expect(done).toContain("selected a after 1999: 1, all");
});

it("an unexpected error pauses only the search that failed, and this search is repeated later", async () => {
  const template = { serverId: "one", version: 1, appliesTo: {}, fromTemplateAfter: null, selectedAfter: "1999" };
  const { applier, clock, done, failing, lists } = setUp({
    templates: [
      { ...template, name: "a" },
      { ...template, name: "b", serverId: "two" },
    ],
  });
  failing.set("list one", new Error("unexpected"));
  await applier.round();
  await applier.round();
  expect(lists).toEqual(["one", "two", "two"]);
  expect(done).toEqual(["selected b after 1999: 1, all", "selected b after 1999: 1, all"]);
  failing.clear();
  clock.advance(A_MINUTE_MS);
  await applier.round();
  expect(done).toContain("selected a after 1999: 1, all");
});
