import { ACCOUNT_ROUTES } from "@kapi/contracts";
import { callRoute, DependencyError, type InternalClient } from "@kapi/http";

import type { ReadAccount } from "../../domain/ports.ts";

const NOT_FOUND = 404;

/** Reads accounts from the account service. */
export function createAccountReader(account: InternalClient): ReadAccount {
  return async (params) => {
    try {
      const found = await callRoute(account, ACCOUNT_ROUTES.readAccountForRisk, { params: { ...params } });
      const { accountId, status, initialBalanceMinor, valuation } = found;
      return { accountId, isDeleting: status === "deleting", initialBalanceMinor, valuation };
    } catch (error) {
      if (error instanceof DependencyError && error.status === NOT_FOUND) return null;
      throw error;
    }
  };
}
