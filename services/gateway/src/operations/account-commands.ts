import {
  type CommandOperation,
  COMMANDS,
  ExportAccountHistoryBody,
  FundsBody,
  type PasswordReset,
  RequestBody,
  ResetPasswordBody,
  UpdateTradingAccountBody,
} from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import type { z } from "zod";

import type { CommandDraft } from "../domain/command-message.ts";
import { UNKNOWN_ID } from "../domain/ports.ts";
import type { Operation, OperationTable } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { generatedPassword } from "./generated-password.ts";
import { firstFinding, queueCommand, type QueueDependencies } from "./queue-command.ts";
import { Findings, removedServer } from "./validate.ts";

type AccountCommandDependencies = QueueDependencies & Pick<Dependencies, "configurations" | "knownAccounts">;

/** A queued operation on an account that exists: what it has of its own. */
interface AccountCommand<B extends CommandDraft["body"]> {
  readonly operation: CommandOperation;
  readonly body: z.ZodType<B>;
  /** What the state of the server says against the body; the account is looked for anyway. */
  readonly serverFinding?: (serverId: string, body: B) => Promise<ApiError | null>;
  /** What every answer carries beside the command, that to a repeat too. */
  readonly everyTime?: (
    commandId: string,
    derivationKeyId: string | null,
    body: B,
  ) => Readonly<Record<string, unknown>>;
}

/** Changes of accounts that exist, and exports of their history: each queues one command. */
export function accountCommands(
  dependencies: AccountCommandDependencies,
): OperationTable<
  | "updateTradingAccount"
  | "enableAccount"
  | "disableAccount"
  | "archiveAccount"
  | "queueAccountDeletion"
  | "resetTradingPassword"
  | "resetInvestorPassword"
  | "exportAccountHistory"
  | "depositAccountFunds"
  | "withdrawAccountFunds"
> {
  const queue = <B extends CommandDraft["body"]>(command: AccountCommand<B>): Operation =>
    queueAccountCommand(dependencies, command);
  return {
    updateTradingAccount: queue({
      operation: "account.update",
      body: UpdateTradingAccountBody,
      // The server may not support the leverage (decisions, 4.6).
      serverFinding: async (serverId, { leverage }) => {
        const { supportsLeverage } = dependencies.configurations;
        if (leverage === undefined || (await supportsLeverage(serverId, leverage))) return null;
        return new ApiError("LEVERAGE_NOT_SUPPORTED");
      },
    }),
    enableAccount: queue({ operation: "account.enable", body: RequestBody }),
    disableAccount: queue({ operation: "account.disable", body: RequestBody }),
    archiveAccount: queue({ operation: "account.archive", body: RequestBody }),
    queueAccountDeletion: queue({ operation: "account.delete", body: RequestBody }),
    resetTradingPassword: queue(passwordReset(dependencies, "account.password_reset")),
    resetInvestorPassword: queue(passwordReset(dependencies, "account.investor_password_reset")),
    exportAccountHistory: queue({ operation: "account.history_export", body: ExportAccountHistoryBody }),
    depositAccountFunds: queue({ operation: "finance.deposit", body: FundsBody }),
    withdrawAccountFunds: queue({ operation: "finance.withdraw", body: FundsBody }),
  };
}

/**
 * Every answer carries the new password, that to a repeat too (decisions, 5.1). A generated one is
 * derived anew from the command id, with the key that the first request took. A supplied one is the
 * request's own, which the fingerprint has proved to be that of the first request. So it is kept
 * nowhere.
 */
function passwordReset(
  dependencies: Pick<Dependencies, "derivationKeys">,
  operation: PasswordReset,
): AccountCommand<ResetPasswordBody> {
  const { password: purpose } = COMMANDS[operation];
  return {
    operation,
    body: ResetPasswordBody,
    everyTime: (commandId, keyId, { password }) => ({
      password: password ?? generatedPassword(dependencies, commandId, keyId, purpose),
    }),
  };
}

/** What all queued operations on an account have in common: all but {@link AccountCommand}. */
function queueAccountCommand<B extends CommandDraft["body"]>(
  dependencies: AccountCommandDependencies,
  command: AccountCommand<B>,
): Operation {
  return async (call) => {
    const findings = new Findings();
    const serverId = findings.serverId(call);
    const accountNumber = findings.accountNumber(call);
    const idempotencyKey = findings.idempotencyKey(call);
    const body = findings.body(call, command.body);
    const error = findings.error();
    if (error !== null || body === null) return call.charge.refuse(error ?? new ApiError("VALIDATION_FAILED"));
    const { serverFinding, everyTime } = command;
    return queueCommand(dependencies, call, {
      operation: command.operation,
      serverId,
      accountNumber,
      idempotencyKey,
      body,
      reusedStatus: 400,
      state: async () => {
        const removed = removedServer(call);
        // Of a removed server nothing else can be asked.
        if (removed !== null) return { finding: removed, accountId: null };
        const [ofServer, accountId] = await Promise.all([
          serverFinding?.(serverId, body) ?? null,
          dependencies.knownAccounts.find(serverId, accountNumber),
        ]);
        const missing = accountId === null ? new ApiError("ACCOUNT_NOT_FOUND") : null;
        return { finding: firstFinding([ofServer, missing]), accountId: accountId === UNKNOWN_ID ? null : accountId };
      },
      ...(everyTime === undefined ? {} : { everyTime: (commandId, keyId) => everyTime(commandId, keyId, body) }),
    });
  };
}
