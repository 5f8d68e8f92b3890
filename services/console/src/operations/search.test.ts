import { randomUUID } from "node:crypto";

import { ApiError } from "@kapi/http";
import { beforeEach, expect, it, vi } from "vitest";

import type { Accounts, Commands, Directory, Risk } from "../domain/ports.ts";
import { search } from "./search.ts";

const PERSON = {
  organizationId: randomUUID(),
  caller: { actor: { type: "user", id: randomUUID() }, address: null },
} as const;
const SERVERS = [randomUUID(), randomUUID()];
const AT = "2026-11-27T09:00:00.000Z";
const NONE_OMITTED = { reads: 0, others: 0 };
const never = (): Promise<never> => new Promise(() => undefined);

let asked: string[];

/** An organization with two servers, and a key; everything else is empty. */
function dependencies(more: {
  readonly accounts?: Partial<Accounts>;
  readonly commands?: Partial<Commands>;
  readonly risk?: Partial<Risk>;
  readonly directory?: Partial<Directory>;
}) {
  const page = { page: 1, limit: 5, total: 0, totalPages: 0, nextCursor: null };
  const bytes = (body: unknown): Promise<Buffer> => Promise.resolve(Buffer.from(JSON.stringify(body)));
  const record = (what: string): void => void asked.push(what);
  return {
    directory: {
      servers: () => Promise.resolve({ servers: SERVERS.map((serverId) => ({ serverId })), total: SERVERS.length }),
      keys: () => Promise.resolve([{ keyId: "key_1", name: "Backend", status: "active" }]),
      ...more.directory,
    } as Partial<Directory> as Directory,
    accounts: {
      list: () => (record("accounts"), Promise.resolve({ accounts: [], pagination: page })),
      ...more.accounts,
    } as Partial<Accounts> as Accounts,
    commands: {
      list: () => (record("commands"), bytes({ commands: [], pagination: page })),
      read: () => (record("command"), Promise.resolve(null)),
      ...more.commands,
    },
    requestLog: {
      list: () => (
        record("requests"),
        Promise.resolve({ requests: [], nextCursor: null, searchedTo: null, omitted: NONE_OMITTED })
      ),
    },
    findTransaction: () => (record("transaction"), Promise.resolve(null)),
    webhooks: () => (record("event"), Promise.resolve({ rejection: new ApiError("NOT_FOUND") })),
    risk: { find: () => (record("breach"), Promise.resolve(null)), ...more.risk } as Partial<Risk> as Risk,
  };
}

beforeEach(() => {
  asked = [];
});

it("a search looks for any text among accounts, commands, requests and keys, and for an id also among transactions, events and breaches", async () => {
  await search(dependencies({}), PERSON, randomUUID());
  expect(asked.toSorted()).toEqual([
    "accounts",
    "accounts",
    "breach",
    "command",
    "commands",
    "commands",
    "event",
    "requests",
    "transaction",
  ]);
  asked = [];
  const { results } = await search(dependencies({}), PERSON, "backend");
  expect(asked.toSorted()).toEqual(["accounts", "accounts", "commands", "commands", "requests"]);
  expect(results).toEqual([{ kind: "key", keyId: "key_1", name: "Backend", status: "active" }]);
});

it("a search does not look for a text of fewer than 3 characters among accounts, commands and requests", async () => {
  await search(dependencies({}), PERSON, "10");
  expect(asked).toEqual([]);
});

it("a search shows no command of a server that the organization no longer has", async () => {
  const command = {
    id: randomUUID(),
    serverId: randomUUID(),
    operation: "finance.deposit",
    status: "queued",
    attempts: 0,
    result: null,
    errorCode: null,
    idempotencyKey: "one",
    createdAt: AT,
    createdBy: { type: "key", id: "key_1" },
  };
  const body = { command };
  const read = (): Promise<Buffer> => Promise.resolve(Buffer.from(JSON.stringify(body)));
  const { results, unavailable } = await search(dependencies({ commands: { read } }), PERSON, command.id);
  expect(results).toEqual([]);
  expect(unavailable).toEqual([]);
});

it("a search waits at most a second for each source, and names the sources that fail or do not answer", async () => {
  vi.useFakeTimers();
  const failing = { find: () => Promise.reject(new Error("unavailable")) };
  const answer = search(dependencies({ accounts: { list: never }, risk: failing }), PERSON, randomUUID());
  await vi.advanceTimersByTimeAsync(1_000);
  vi.useRealTimers();
  expect((await answer).unavailable).toEqual(["accounts", "breaches"]);
});
