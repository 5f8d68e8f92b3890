import { randomUUID } from "node:crypto";
import type { ServerEntry } from "@kapi/contracts";
import type { Database } from "@kapi/postgres";

import type { AccountCreation } from "../src/domain/account.ts";
import { createServerRegister } from "../src/outbound/postgres/server-register.ts";

export function serverEntry(overrides: Partial<ServerEntry> = {}): ServerEntry {
  return {
    kind: "server",
    version: 1,
    serverId: randomUUID(),
    organizationId: randomUUID(),
    status: "active",
    tradingServerUrl: "http://127.0.0.1:1",
    configuration: {
      serverName: "Demo",
      companyName: "Example",
      currency: "USD",
      environment: "demo",
      supportedLeverage: [100, 1, 50],
      defaultLeverage: 100,
    },
    ...overrides,
  };
}

export async function newServer(database: Database): Promise<string> {
  const entry = serverEntry();
  await createServerRegister(database).save(entry);
  return entry.serverId;
}

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
