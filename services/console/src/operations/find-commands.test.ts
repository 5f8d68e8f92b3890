import type { Command, ListCommandsQuery } from "@kapi/contracts";
import { expect, it } from "vitest";

import type { Commands, Directory } from "../domain/ports.ts";
import { findCommands } from "./find-commands.ts";

const SERVER = "6f1d0c1e-52b4-4a8e-9d0a-1f0e3f2a7c11";
const KEY = { type: "key", id: "mfrggzdfmztwq2lk" } as const;
const PERSON = { type: "user", id: "0b0f4f0e-5a4e-4c39-8a39-1d8f0a8f0a01" } as const;
const directory = { server: () => Promise.resolve({}) } as unknown as Pick<Directory, "server">;

function command(index: number, change: Partial<Command> = {}): Command {
  return {
    id: `0b0f4f0e-5a4e-4c39-8a39-${String(index).padStart(12, "0")}`,
    operation: "finance.withdraw",
    status: "succeeded",
    attempts: 1,
    payload: { amount: index },
    result: null,
    errorCode: null,
    idempotencyKey: `key-${index}`,
    createdAt: new Date(Date.UTC(2026, 10, 27) - index * 1_000).toISOString(),
    serverId: SERVER,
    createdBy: KEY,
    ...change,
  };
}

/** A list whose cursors are indexes of `all`, and the queries that the list received. */
function listOf(all: readonly Command[]) {
  const asked: ListCommandsQuery[] = [];
  const list: Commands["list"] = (_organizationId, _serverId, query) => {
    const from = query.cursor === undefined ? 0 : Number(query.cursor);
    const read = all.slice(from, from + query.limit);
    const next = from + query.limit < all.length ? String(from + query.limit) : null;
    asked.push(query);
    const pagination = { page: 1, limit: query.limit, total: all.length, totalPages: 1, nextCursor: next };
    return Promise.resolve(Buffer.from(JSON.stringify({ commands: read, pagination })));
  };
  return { asked, dependencies: { directory, commands: { list } as unknown as Commands } };
}

const find = (all: readonly Command[], query: { by?: string; amount?: number; cursor?: string }) => {
  const { asked, dependencies } = listOf(all);
  const filter = { limit: 20, operation: "finance.withdraw", ...query } as const;
  return findCommands(dependencies, "organization", SERVER, filter).then((found) => ({ found, asked }));
};

it("a search finds a command by its amount and by who requested it, and passes the other filters on", async () => {
  const all = [command(500), command(7), command(501, { payload: { amount: 500 }, createdBy: PERSON })];
  expect((await find(all, { amount: 500 })).found.commands.map(({ id }) => id)).toEqual([all[0]?.id, all[2]?.id]);
  const { found, asked } = await find(all, { amount: 500, by: `user/${PERSON.id}` });
  expect(found).toMatchObject({ commands: [{ id: all[2]?.id }], nextCursor: null, searchedTo: null });
  expect(asked).toMatchObject([{ operation: "finance.withdraw" }]);
  expect((await find(all, { by: "system/risk" })).found.commands).toEqual([]);
});

it("a search compares at most 2,000 commands for a page, and says how far back it has searched", async () => {
  const all = Array.from({ length: 2_500 }, (_, index) => command(index + 1));
  const first = await find(all, { amount: 2_400 });
  expect(first.asked).toHaveLength(20);
  expect(first.found).toEqual({ commands: [], nextCursor: "2000", searchedTo: all[1_999]?.createdAt });
  const { found } = await find(all, { amount: 2_400, cursor: "2000" });
  expect(found).toMatchObject({ commands: [{ payload: { amount: 2_400 } }], searchedTo: null });
});

it("a page ends after the read that reaches its limit, and has all matches of this read", async () => {
  const all = Array.from({ length: 300 }, (_, index) => command(index + 1));
  const { found, asked } = await find(all, { by: `key/${KEY.id}` });
  expect(asked).toHaveLength(1);
  expect(found).toMatchObject({ nextCursor: "100", searchedTo: all[99]?.createdAt });
  expect(found.commands).toHaveLength(100);
});
