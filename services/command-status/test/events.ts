import type { CommandEvent, AnyCommandMessage } from "@kapi/contracts";

/** An event of the command that `message` names. */
export function eventOf(message: AnyCommandMessage, change: Partial<CommandEvent> = {}): CommandEvent {
  return {
    commandId: message.commandId,
    organizationId: message.organizationId,
    serverId: message.serverId,
    accountNumber: message.accountNumber,
    managedAccountId: message.managedAccountId,
    operation: message.operation,
    version: 1,
    status: "succeeded",
    attempts: 1,
    result: { transactionId: "0b0f4f0e-5a4e-4c39-8a39-1d8f0a8f0a01", balanceAfter: 100 },
    errorCode: null,
    errorMessage: null,
    settlement: null,
    occurredAt: new Date().toISOString(),
    ...change,
  };
}
