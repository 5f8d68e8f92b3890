import { ACCOUNT_ROUTES } from "@kapi/contracts";
import { callRoute, DependencyError, type InternalClient } from "@kapi/http";

import type { ReadAccount } from "../../domain/ports.ts";

const NOT_FOUND = 404;

/** Reads accounts from the account service. */
export function createAccountReader(account: InternalClient): ReadAccount {
  return async (params) => {
    try {
      return await callRoute(account, ACCOUNT_ROUTES.readAccountForRisk, { params: { ...params } });
    } catch (error) {
      if (error instanceof DependencyError && error.status === NOT_FOUND) return null;
      throw error;
    }
  };
}
