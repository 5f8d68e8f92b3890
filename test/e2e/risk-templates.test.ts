/** Risk templates, as an organization's backend uses them. */
import { Kapi, type RiskRule, type RiskTemplate, type ServerResource } from "@kapi/client";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { OutsideClient } from "./outside-client.ts";
import { type RunningSystem, startSystem } from "./system.ts";

const FLOOR: RiskRule = { id: "floor", type: "maxLoss", limit: { amount: "500.50" }, action: "notify" };
const APPLY_TIMEOUT_MS = 20_000;

let system: RunningSystem;
let client: OutsideClient;
let server: ServerResource;

beforeAll(async () => {
  system = await startSystem();
  client = new OutsideClient(system.demo);
  const { managementKey, baseUrl, wsBase, serverId } = system.demo;
  server = new Kapi({ key: managementKey, baseUrl, liveUrl: wsBase }).server(serverId);
});

afterAll(() => system.stop());

async function openAccount(accountName: string): Promise<string> {
  const account = { accountName, initialBalance: "10000", leverage: 100 };
  const created = await server.accounts.create(account, { key: `create-${accountName}` });
  return (await created.result()).accountNumber;
}

async function applied(name: string): Promise<RiskTemplate> {
  return eventually(
    async () => {
      const template = await server.riskTemplates.get(name);
      expect(template.progress).toBe("applied");
      return template;
    },
    { timeoutMs: APPLY_TIMEOUT_MS },
  );
}

it("a template is applied to matching accounts, also to new and renamed ones, and their rules name the template", async () => {
  const accountNumber = await openAccount("Templates 1 Ada");
  const other = await openAccount("Other 1");
  const template = { rules: [FLOOR], appliesTo: { nameStartsWith: "Templates 1" }, newAccounts: true } as const;
  const set = await server.riskTemplates.set("one", template, { key: "set-one" });
  expect(await set.result()).toEqual({ version: 1, accounts: 1 });
  const repeated = await server.riskTemplates.set("one", template, { key: "set-one" });
  expect(repeated).toMatchObject({ id: set.id, duplicate: true });
  expect(await applied("one")).toMatchObject({
    ...template,
    name: "one",
    version: 1,
    commandId: set.id,
    accounts: { applied: 1, waiting: 0, failed: 0 },
  });
  const rules = await server.account(accountNumber).riskRules();
  expect(rules).toMatchObject({ version: 1, rules: [FLOOR], commandId: set.id, template: { name: "one", version: 1 } });
  const created = await openAccount("Templates 1 Bob");
  const renamed = server.account(other);
  await (await renamed.update({ accountName: "Templates 1 Eve" }, { key: "rename" })).result();
  await eventually(
    async () => {
      for (const number of [created, other]) {
        expect((await server.account(number).riskRules()).template).toEqual({ name: "one", version: 1 });
      }
    },
    { timeoutMs: APPLY_TIMEOUT_MS },
  );
  expect((await applied("one")).accounts).toEqual({ applied: 3, waiting: 0, failed: 0 });
});

it("a template does not replace rules that were set on an account; useTemplate does, and the template's deletion can remove the rules", async () => {
  const account = server.account(await openAccount("Templates 2"));
  await (await account.setRiskRules([{ ...FLOOR, limit: { percent: 1 } }], { key: "own" })).result();
  const template = { rules: [FLOOR], appliesTo: { nameStartsWith: "Templates 2" }, newAccounts: false };
  await (await server.riskTemplates.set("two", template, { key: "set-two" })).result();
  await applied("two");
  expect(await account.riskRules()).toMatchObject({ version: 1, template: null });
  await (await account.deleteRiskRules({ key: "back", useTemplate: true })).result();
  expect(await account.riskRules()).toMatchObject({
    version: 2,
    rules: [FLOOR],
    template: { name: "two", version: 1 },
  });
  const deletion = await server.riskTemplates.delete("two", "remove", { key: "delete-two" });
  expect(await deletion.result()).toEqual({ version: 2 });
  await eventually(async () => expect(await account.riskRules()).toMatchObject({ version: 3, rules: [] }), {
    timeoutMs: APPLY_TIMEOUT_MS,
  });
  expect((await server.riskTemplates.list()).map(({ name }) => name)).not.toContain("two");
});

const RULE = { id: "max", type: "maxLoss", limit: { percent: 10 }, action: "notify" };
const VALID = { rules: [RULE], appliesTo: { status: ["active"] }, newAccounts: true, requestId: "bad" };

it.each<[what: string, name: string, body: object, path: readonly (string | number)[]]>([
  ["a name with a space", "a b", VALID, ["templateName"]],
  ["no rules", "bad", { ...VALID, rules: [] }, ["rules"]],
  [
    "rules that contradict each other",
    "bad",
    { ...VALID, rules: [RULE, { ...RULE, id: "day", type: "dailyLoss", basis: "equity", limit: { percent: 11 } }] },
    ["rules", 1, "limit"],
  ],
  [
    "a percent above 100",
    "bad",
    { ...VALID, rules: [{ ...RULE, limit: { percent: 101 } }] },
    ["rules", 0, "limit", "percent"],
  ],
  [
    "an unknown time zone",
    "bad",
    { ...VALID, rules: [{ ...RULE, type: "dailyLoss", basis: "equity", timeZone: "Europe/Atlantis" }] },
    ["rules", 0, "timeZone"],
  ],
  ["a selection without a condition", "bad", { ...VALID, appliesTo: {} }, ["appliesTo"]],
  ["an empty list of statuses", "bad", { ...VALID, appliesTo: { status: [] } }, ["appliesTo", "status"]],
  [
    "a status that no template may select",
    "bad",
    { ...VALID, appliesTo: { status: ["pending"] } },
    ["appliesTo", "status", 0],
  ],
  ["a status twice", "bad", { ...VALID, appliesTo: { status: ["active", "active"] } }, ["appliesTo", "status"]],
  ["an empty nameStartsWith", "bad", { ...VALID, appliesTo: { nameStartsWith: "" } }, ["appliesTo", "nameStartsWith"]],
  ["no newAccounts", "bad", { ...VALID, newAccounts: undefined }, ["newAccounts"]],
  [
    "a selection that matches no account, and newAccounts false",
    "bad",
    { ...VALID, appliesTo: { nameStartsWith: "Nobody has this name" }, newAccounts: false },
    ["appliesTo"],
  ],
])("a template with %s is rejected, and the error names the field", async (_what, name, body, path) => {
  const answer = await client.send("PUT", `/risk-templates/${encodeURIComponent(name)}`, body, `bad-${String(path)}`);
  expect(answer.status, JSON.stringify(answer.body)).toBe(400);
  expect(answer.body).toMatchObject({ code: "VALIDATION_FAILED", issues: [{ path }] });
  expect((await server.riskTemplates.list()).map((template) => template.name)).not.toContain("bad");
});

it("an unknown template is 404, and a deletion that does not say what to do with the rules is 400", async () => {
  await expect(server.riskTemplates.get("unknown")).rejects.toMatchObject({ code: "RISK_TEMPLATE_NOT_FOUND" });
  const unknown = server.riskTemplates.delete("unknown", "keep", { key: "unknown" });
  await expect(unknown).rejects.toMatchObject({ code: "RISK_TEMPLATE_NOT_FOUND" });
  const path = client.server("/risk-templates/one?requestId=r");
  const answer = await client.call("DELETE", path, { idempotencyKey: "unclear" });
  expect(answer).toMatchObject({ status: 400, body: { issues: [{ path: ["accountRules"] }] } });
});
