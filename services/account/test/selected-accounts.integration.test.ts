import type { RiskTemplateSelection } from "@kapi/contracts";
import { type Database, statement } from "@kapi/postgres";
import { afterAll, beforeAll, expect, it } from "vitest";

import { createAccountReader } from "../src/outbound/postgres/account-reader.ts";
import { createCreationRepository } from "../src/outbound/postgres/creation-repository.ts";
import { type AccountSchema, startAccountSchema } from "./account-schema.ts";
import { creation, insertServer } from "./account-rows.ts";

const SET_STATUS = statement<never>("test-status", "update accounts set status = $2 where id = $1");
let schema: AccountSchema;
let database: Database;

beforeAll(async () => {
  schema = await startAccountSchema();
  ({ database } = schema);
});

afterAll(() => schema.stop());

/** Creates accounts with these names and states on a new server. Returns their numbers by name. */
async function create(wanted: readonly (readonly [name: string, status: string])[]) {
  const serverId = await insertServer(database);
  const accounts = await createCreationRepository(database).findOrCreate(
    wanted.map(([accountName]) => creation(serverId, { accountName })),
  );
  for (const [index, { id }] of accounts.entries()) await database.query(SET_STATUS, [id, wanted[index]?.[1]]);
  return { serverId, numbers: new Map(accounts.map((one) => [one.accountName, one.accountNumber])) };
}

it("the selection of a risk template finds accounts by status and by the literal beginning of their names, on pages without a gap", async () => {
  const { serverId, numbers } = await create([
    ["100% sure", "active"],
    ["1000 sure", "active"],
    ["100% sure too", "disabled"],
    ["100% gone", "deleted"],
    ["100% new", "pending"],
    ["really 100% sure", "active"],
  ]);
  await create([["100% sure", "active"]]);
  const reader = createAccountReader(database);
  const selected = async (selection: RiskTemplateSelection): Promise<(string | undefined)[]> => {
    const found: string[] = [];
    for (let page = [""]; page.length > 0;) {
      page = await reader.selected(serverId, selection, found.at(-1) ?? "", 1);
      found.push(...page);
    }
    expect(await reader.countSelected(serverId, selection)).toBe(found.length);
    return found.map((number) => [...numbers].find(([, one]) => one === number)?.[0]);
  };
  expect(await selected({ nameStartsWith: "100% " })).toEqual(["100% sure", "100% sure too"]);
  expect(await selected({ nameStartsWith: "100% ", status: ["disabled", "archived"] })).toEqual(["100% sure too"]);
  expect(await selected({ status: ["active"] })).toEqual(["100% sure", "1000 sure", "really 100% sure"]);
  expect(await selected({ nameStartsWith: "nobody" })).toEqual([]);
});
