import { ACCOUNT_ROUTES, type ErrorCode } from "@kapi/contracts";
import { callRoute, DependencyError, type InternalClient } from "@kapi/http";

import type { ReadAccount } from "../../domain/ports.ts";
import type { SelectedAccounts } from "../../domain/template-ports.ts";

const NOT_FOUND: ErrorCode = "ACCOUNT_NOT_FOUND";

/**
 * Reads accounts from the account service. Null if the service does not know the account. Any other
 * 404 is an error: it is the answer of a proxy, or of a release that does not have the route.
 */
export function createAccountReader(account: InternalClient): ReadAccount {
  return async ({ serverId, accountNumber }, query) => {
    try {
      const params = { serverId, accountNumber };
      return await callRoute(account, ACCOUNT_ROUTES.readAccountForRisk, { params, query: query ?? {} });
    } catch (error) {
      if (error instanceof DependencyError && error.code === NOT_FOUND) return null;
      throw error;
    }
  };
}

/** Counts and lists the accounts that a template selects, in the account service. */
export function createSelectedAccounts(account: InternalClient): SelectedAccounts {
  return {
    async count(serverId, selection) {
      const request = { params: { serverId }, body: { selection } };
      return (await callRoute(account, ACCOUNT_ROUTES.countSelectedAccounts, request, { repeatable: true })).accounts;
    },
    async list(serverId, selection, after, limit) {
      const request = { params: { serverId }, body: { selection, after, limit } };
      const found = await callRoute(account, ACCOUNT_ROUTES.listSelectedAccounts, request, { repeatable: true });
      return found.accountNumbers;
    },
  };
}
