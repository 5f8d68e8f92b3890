import { Server } from "@kapi/contracts";
import { DependencyError, type InternalClient } from "@kapi/http";
import { z } from "zod";

import type { Accounts } from "../../domain/ports.ts";

const ConfigurationAnswer = z.object({ server: Server });
const ExistingAnswer = z.object({ existing: z.array(z.boolean()) });

/** The account service over internal HTTP. `checkTimeoutMs` is for questions on the way to a command. */
export function createAccounts(client: InternalClient, checkTimeoutMs: number): Accounts {
  const checking = { timeoutMs: checkTimeoutMs };
  return {
    configurationBytes: async (serverId) => {
      const { status, body } = await client.request("GET", configurationPath(serverId));
      if (status !== 200) throw unexpected("the configuration", status);
      return body;
    },
    configuration: async (serverId) =>
      (await client.json("GET", configurationPath(serverId), undefined, ConfigurationAnswer, checking)).server,
    accountBytes: async (serverId, accountNumber) => {
      const { status, body } = await client.request("GET", `/internal/servers/${serverId}/accounts/${accountNumber}`);
      if (status === 404) return null;
      if (status !== 200) throw unexpected("account details", status);
      return body;
    },
    list: async (serverId, query) => {
      const wanted = new URLSearchParams();
      for (const [name, value] of Object.entries(query)) if (value !== undefined) wanted.set(name, String(value));
      const { status, body } = await client.stream(
        "GET",
        `/internal/servers/${serverId}/accounts?${wanted.toString()}`,
      );
      if (status === 200) return body;
      body.destroy();
      throw unexpected("the account list", status);
    },
    existing: async (accounts) => {
      return (await client.json("POST", "/internal/accounts/existing", { accounts }, ExistingAnswer, checking))
        .existing;
    },
  };
}

function configurationPath(serverId: string): string {
  return `/internal/servers/${serverId}/configuration`;
}

function unexpected(what: string, status: number): DependencyError {
  return new DependencyError(`the account service answered ${what} with ${status}`);
}
