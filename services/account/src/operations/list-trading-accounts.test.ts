import { randomUUID } from "node:crypto";

import { describe, expect, it } from "vitest";

import type { Account, ServerConfiguration } from "../domain/account.ts";
import type { AccountFilter, AccountReader } from "../domain/ports.ts";
import { type AccountListDependencies, pageOfTradingAccounts, streamTradingAccounts } from "./list-trading-accounts.ts";

/** Maximum number of concurrent searches of an organization in a process. */
const SEARCHES = 2;
/** Well below the 3 s and 1 s that lists and searches wait for a turn. */
const SOON_MS = 500;
const PAGE = { page: 1, limit: 20 };

function server(): ServerConfiguration {
  return { serverId: randomUUID(), organizationId: randomUUID() } as ServerConfiguration;
}

/**
 * A database without accounts. Reads for which `hangs` returns true wait until `end` is called;
 * `running` counts the waiting reads.
 */
function emptyDatabase(hangs: (serverId: string, filter: AccountFilter) => boolean) {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let running = 0;
  const read = async (serverId: string, filter: AccountFilter): Promise<void> => {
    if (!hangs(serverId, filter)) return;
    running += 1;
    await ended;
    running -= 1;
  };
  const reader: Pick<AccountReader, "page" | "all"> = {
    page: async (serverId, query) => {
      await read(serverId, query);
      return { accounts: [], pagination: { page: 1, limit: 1, total: 0, totalPages: 0, nextCursor: null } };
    },
    all: async function* all(serverId, filter): AsyncGenerator<Account[]> {
      await read(serverId, filter);
      yield [];
    },
  };
  const samples = { latest: () => Promise.resolve([]) };
  const dependencies = { reader, samples } as unknown as AccountListDependencies;
  return { dependencies, end, running: () => running };
}

async function whole(
  dependencies: AccountListDependencies,
  of: ServerConfiguration,
  filter: AccountFilter,
): Promise<string> {
  let text = "";
  for await (const chunk of streamTradingAccounts(dependencies, of, filter)) text += chunk;
  return text;
}

async function soon(read: Promise<string>): Promise<void> {
  const startedMs = performance.now();
  expect(JSON.parse(await read)).toMatchObject({ accounts: [] });
  expect(performance.now() - startedMs).toBeLessThan(SOON_MS);
}

function refused(read: Promise<string>): Promise<void> {
  return expect(read).rejects.toMatchObject({ code: "TOO_MANY_CONCURRENT_REQUESTS", status: 429 });
}

describe("searches of one organization that take long", () => {
  it("never exceed the organization's share of searches, paged or not; further searches are rejected", async () => {
    const one = server();
    const { dependencies, end, running } = emptyDatabase((serverId) => serverId === one.serverId);
    const searches = [
      pageOfTradingAccounts(dependencies, one, { ...PAGE, search: "a" }),
      whole(dependencies, one, { search: "a" }),
    ];
    await expect.poll(running).toBe(SEARCHES);
    await Promise.all([
      refused(pageOfTradingAccounts(dependencies, one, { ...PAGE, search: "a" })),
      refused(whole(dependencies, one, { search: "a" })),
    ]);
    expect(running()).toBe(SEARCHES);
    end();
    await Promise.all(searches);
    await soon(pageOfTradingAccounts(dependencies, one, { ...PAGE, search: "a" }));
  });

  it("delay neither the organization's lists and pages, nor another organization's searches and lists", async () => {
    const [one, other] = [server(), server()];
    const { dependencies, end, running } = emptyDatabase(
      (serverId, { search }) => serverId === one.serverId && search !== undefined,
    );
    const searches = Array.from({ length: SEARCHES }, () => whole(dependencies, one, { search: "a" }));
    await expect.poll(running).toBe(SEARCHES);
    await soon(whole(dependencies, one, {}));
    await soon(pageOfTradingAccounts(dependencies, one, PAGE));
    await soon(whole(dependencies, other, {}));
    await soon(whole(dependencies, other, { search: "a" }));
    await soon(pageOfTradingAccounts(dependencies, other, { ...PAGE, search: "a" }));
    end();
    await Promise.all(searches);
  });
});

describe("lists of one organization", () => {
  it("do not delay a list of another organization, even if they are many and their chunks are slow", async () => {
    const [one, other] = [server(), server()];
    const { dependencies, end, running } = emptyDatabase((serverId) => serverId === one.serverId);
    const lists = Array.from({ length: 8 }, () => whole(dependencies, one, {}));
    await expect.poll(running).toBe(1);
    await soon(whole(dependencies, other, {}));
    expect(running()).toBe(1);
    end();
    await Promise.all(lists);
  });
});
