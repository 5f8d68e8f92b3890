import { randomUUID } from "node:crypto";

import { DependencyError } from "@kapi/http";
import { expect, it } from "vitest";

import { exportAccounts } from "./export-accounts.ts";
import type { AccountListDependencies } from "./list-accounts.ts";

it("an export fails if the stored values of any page cannot be read: a file without these values would look complete", async () => {
  const unavailable = new DependencyError("metrics is unavailable");
  let readable = 0;
  const pagination = { total: 2, nextCursor: "next" };
  const dependencies = {
    directory: { server: () => Promise.resolve({}) },
    accounts: { list: () => Promise.resolve({ accounts: [], pagination }) },
    ranks: { values: () => (readable-- > 0 ? Promise.resolve([]) : Promise.reject(unavailable)) },
  } as unknown as AccountListDependencies;
  const start = () => exportAccounts(dependencies, randomUUID(), randomUUID(), {});
  await expect(start()).rejects.toBe(unavailable);
  readable = 1;
  const { chunks } = await start();
  const readAll = async () => {
    for await (const chunk of chunks) expect(chunk).toContain("account number");
  };
  await expect(readAll()).rejects.toBe(unavailable);
});
