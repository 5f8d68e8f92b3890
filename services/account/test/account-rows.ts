import { randomUUID } from "node:crypto";
import { systemClock } from "@kapi/kernel";
import type { Database } from "@kapi/postgres";
import { serverEntry } from "@kapi/testkit";

import type { AccountCreation } from "../src/domain/account.ts";
import { createServerRepository } from "../src/outbound/postgres/server-repository.ts";

/** Inserts a server as the service does when it reads a new directory entry; returns its id. */
export async function insertServer(database: Database): Promise<string> {
  const entry = serverEntry();
  await createServerRepository(database, systemClock).save(entry);
  return entry.serverId;
}

/** The data with which an account is created on this server, for a new organization. */
export function creation(serverId: string, overrides: Partial<AccountCreation> = {}): AccountCreation {
  return {
    commandId: randomUUID(),
    managedAccountId: randomUUID(),
    organizationId: randomUUID(),
    serverId,
    accountName: "Trader",
    leverage: 100,
    initialBalanceMinor: 100_000,
    createdAt: new Date().toISOString(),
    ...overrides,
  };
}
