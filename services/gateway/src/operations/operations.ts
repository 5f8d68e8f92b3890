import type { OperationId } from "@kapi/contracts";

import { accountCommands } from "./account-commands.ts";
import { accountCreations } from "./account-creations.ts";
import { accountState } from "./account-state.ts";
import { accountOperations } from "./accounts.ts";
import type { OperationTable } from "./call.ts";
import { creditOperations } from "./credits.ts";
import type { Dependencies } from "./dependencies.ts";
import { digestOperations } from "./digests.ts";
import { getCommand } from "./get-command.ts";
import { historyOperations } from "./history.ts";
import { listCommands } from "./list-commands.ts";
import { riskOperations } from "./risk.ts";
import { riskTemplateOperations } from "./risk-templates.ts";
import { serverOperations } from "./servers.ts";
import { webhookOperations } from "./webhooks.ts";

/**
 * Creates every operation of the contract, by its operation id. A missing operation is a type
 * error.
 */
export function createOperations(dependencies: Dependencies): OperationTable<OperationId> {
  return {
    ...creditOperations(dependencies),
    ...serverOperations(dependencies),
    ...accountOperations(dependencies),
    ...accountCreations(dependencies),
    ...accountCommands(dependencies),
    ...historyOperations(dependencies),
    ...digestOperations(dependencies),
    ...riskOperations(dependencies),
    ...riskTemplateOperations(dependencies),
    ...webhookOperations(dependencies),
    getAccountState: accountState(dependencies),
    getCommand: getCommand(dependencies),
    listCommands: listCommands(dependencies),
  };
}
