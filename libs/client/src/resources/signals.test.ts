import { expect, it } from "vitest";

import { PartialBulkError } from "../commands/partial-bulk-error.ts";
import { Kapi } from "../kapi.ts";
import { createFakeKapi } from "../testing/index.ts";

/** Never answers. Rejects when the request is aborted. */
const silent: typeof fetch = (_url, init) =>
  new Promise((_resolve, reject) => {
    init?.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error), { once: true });
  });

const kapi = new Kapi({ key: "kapi.a.b", baseUrl: "http://kapi.test", fetch: silent });
const server = kapi.server("0197a3c2-6d20-7a10-8b3f-91c5e07d2a02");
const account = server.account("10000001");
const newAccount = { accountName: "A", initialBalance: "0", leverage: 100 };
const cursorStore = { load: async () => "1", save: async () => undefined };

async function first(values: AsyncIterable<unknown>): Promise<unknown> {
  for await (const value of values) return value;
  return undefined;
}

const CALLS: Readonly<Record<string, (signal: AbortSignal) => Promise<unknown>>> = {
  "account.deposit": (signal) => account.deposit({ amount: "1" }, { key: "k", signal }),
  "account.export": (signal) => first(account.export({ key: "k", signal })),
  "accounts.createMany": (signal) => server.accounts.createMany([newAccount], { key: "k", signal }),
  "commands.wait": (signal) => kapi.commands.wait("0197a3c2-6d20-7a10-8b3f-91c5e07d2a03", { signal }),
  "events.page": (signal) => kapi.events.page({ signal }),
  "events.list": (signal) => first(kapi.events.list({ signal })),
  "webhooks.catchUp": (signal) => kapi.webhooks.catchUp({ cursorStore, signal }, () => undefined),
};

it.each(Object.entries(CALLS))(
  "an abort ends the running request of %s",
  async (_name, call) => {
    const stop = new AbortController();
    const ended = expect(call(stop.signal)).rejects.toThrow("stopped by the test");
    await Promise.resolve();
    stop.abort(new Error("stopped by the test"));
    await ended;
  },
  1_000,
);

it("an abort of createMany keeps the credentials of the accounts that are queued", async () => {
  const fake = createFakeKapi();
  const stop = new AbortController();
  const fetchOnce: typeof fetch = (url, init) => {
    if (fake.requests.length === 0) return fake.fetch(url, init);
    queueMicrotask(() => stop.abort(new Error("stopped by the test")));
    return silent(url, init);
  };
  const { accounts } = new Kapi({ ...fake.options, fetch: fetchOnce }).server(fake.serverId);
  const many = Array.from({ length: 101 }, () => newAccount);
  const { signal } = stop;
  const error: unknown = await accounts.createMany(many, { key: "k", signal }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(PartialBulkError);
  expect(error).toMatchObject({ cause: { message: "stopped by the test" } });
  const { queued } = error as PartialBulkError;
  expect(queued).toHaveLength(100);
  for (const { credentials } of queued) expect(credentials).not.toBeNull();
});
