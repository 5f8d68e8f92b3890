import { FINANCE_ROUTES } from "@kapi/contracts";
import { callRoute, type InternalClient } from "@kapi/http";

import type { FindTransaction } from "../../domain/ports.ts";

/** Finds transactions of the finance service. */
export function createTransactionFinder(client: InternalClient): FindTransaction {
  return async (serverIds, transactionId) => {
    const asked = { body: { serverIds: [...serverIds], transactionId } };
    return (await callRoute(client, FINANCE_ROUTES.findTransaction, asked, { repeatable: true })).transaction;
  };
}
