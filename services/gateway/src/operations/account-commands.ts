import {
  type CommandOperation,
  COMMANDS,
  DeleteRiskRulesQuery,
  DisableAccountBody,
  ExportAccountHistoryBody,
  FundsBody,
  type PasswordReset,
  RequestBody,
  ResetPasswordBody,
  type Scope,
  SetRiskRulesBody,
  UpdateTradingAccountBody,
} from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import type { z } from "zod";

import type { CommandDraft } from "../domain/command-message.ts";
import { UNKNOWN_ID } from "../domain/ports.ts";
import type { Operation, OperationTable } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { generatedPassword } from "./generated-password.ts";
import { firstRejection, queueCommand, type QueueDependencies } from "./queue-command.ts";
import { RequestValidator, removedServer } from "./validate.ts";

type AccountCommandDependencies = QueueDependencies & Pick<Dependencies, "configurations" | "knownAccounts">;

/** The parts in which queued operations on an existing account differ. */
interface AccountCommand<B extends CommandDraft["body"]> {
  readonly operation: CommandOperation;
  readonly body: z.ZodType<B>;
  /**
   * Returns the scope that a request with this body needs beside the scope of its operation, or
   * null. Called before the body is validated.
   */
  readonly scopeOf?: (body: unknown) => Scope | null;
  /**
   * The part of the request that has the fields of the command: `query` for a DELETE. Default
   * `body`.
   */
  readonly bodyFrom?: "body" | "query";
  /**
   * Why the state of the server rejects the body, or null. The account is looked up in parallel.
   */
  readonly serverRejection?: (serverId: string, body: B) => Promise<ApiError | null>;
  /** Fields of every response beside the command, also of the response to a repeat. */
  readonly everyAnswerFields?: (
    commandId: string,
    derivationKeyId: string | null,
    body: B,
  ) => Readonly<Record<string, unknown>>;
}

/**
 * Changes of existing accounts, and exports of their history. Each operation queues one command.
 */
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
  | "flattenAccount"
  | "setAccountCloseOnly"
  | "setRiskRules"
  | "deleteRiskRules"
> {
  const queue = <B extends CommandDraft["body"]>(command: AccountCommand<B>): Operation =>
    queueAccountCommand(dependencies, command);
  return {
    updateTradingAccount: queue({
      operation: "account.update",
      body: UpdateTradingAccountBody,
      // Rejects a leverage that the server does not support (decisions, 4.6).
      serverRejection: async (serverId, { leverage }) => {
        const { supportsLeverage } = dependencies.configurations;
        if (leverage === undefined || (await supportsLeverage(serverId, leverage))) return null;
        return new ApiError("LEVERAGE_NOT_SUPPORTED");
      },
    }),
    enableAccount: queue({ operation: "account.enable", body: RequestBody }),
    disableAccount: queue({
      operation: "account.disable",
      body: DisableAccountBody,
      // With `flatten`, the command closes positions: the caller needs this scope too.
      scopeOf: (body) => (isFlattened(body) ? "risk:manage" : null),
    }),
    flattenAccount: queue({ operation: "account.flatten", body: RequestBody }),
    setAccountCloseOnly: queue({ operation: "account.close_only", body: RequestBody }),
    archiveAccount: queue({ operation: "account.archive", body: RequestBody }),
    queueAccountDeletion: queue({ operation: "account.delete", body: RequestBody }),
    resetTradingPassword: queue(passwordReset(dependencies, "account.password_reset")),
    resetInvestorPassword: queue(passwordReset(dependencies, "account.investor_password_reset")),
    exportAccountHistory: queue({ operation: "account.history_export", body: ExportAccountHistoryBody }),
    depositAccountFunds: queue({ operation: "finance.deposit", body: FundsBody }),
    withdrawAccountFunds: queue({ operation: "finance.withdraw", body: FundsBody }),
    setRiskRules: queue({ operation: "risk.set_rules", body: SetRiskRulesBody }),
    deleteRiskRules: queue({ operation: "risk.delete_rules", body: DeleteRiskRulesQuery, bodyFrom: "query" }),
  };
}

/**
 * Every response has the new password, also the response to a repeat (decisions, 5.1). A generated
 * password is derived again from the command id, with the derivation key that the message of the
 * first request names. A supplied password is in the repeat itself: equal fingerprints prove that
 * it is the same. So no password is stored for repeats.
 */
function passwordReset(
  dependencies: Pick<Dependencies, "derivationKeys">,
  operation: PasswordReset,
): AccountCommand<ResetPasswordBody> {
  const { password: purpose } = COMMANDS[operation];
  return {
    operation,
    body: ResetPasswordBody,
    everyAnswerFields: (commandId, keyId, { password }) => ({
      password: password ?? generatedPassword(dependencies, commandId, keyId, purpose),
    }),
  };
}

function isFlattened(body: unknown): boolean {
  return typeof body === "object" && body !== null && "flatten" in body && body.flatten === true;
}

/** Validates a request, and queues its command on an existing account. */
function queueAccountCommand<B extends CommandDraft["body"]>(
  dependencies: AccountCommandDependencies,
  command: AccountCommand<B>,
): Operation {
  return async (call) => {
    const scope = command.scopeOf?.(call.body) ?? null;
    if (scope !== null && !call.caller.scopes.includes(scope)) {
      throw new ApiError("MISSING_SCOPE", { text: `Missing API scope: ${scope}` });
    }
    const validator = new RequestValidator();
    const serverId = validator.serverId(call);
    const accountNumber = validator.accountNumber(call);
    const idempotencyKey = validator.idempotencyKey(call);
    const body =
      command.bodyFrom === "query" ? validator.query(call, command.body) : validator.body(call, command.body);
    const error = validator.error();
    if (error !== null || body === null) return call.charge.reject(error ?? new ApiError("VALIDATION_FAILED"));
    const { serverRejection, everyAnswerFields } = command;
    return queueCommand(dependencies, call, {
      operation: command.operation,
      serverId,
      accountNumber,
      idempotencyKey,
      body,
      reusedStatus: 400,
      state: async () => {
        const removed = removedServer(call);
        // A removed server has no configuration and no accounts.
        if (removed !== null) return { rejection: removed, accountId: null };
        const [rejectedByServer, accountId] = await Promise.all([
          serverRejection?.(serverId, body) ?? null,
          dependencies.knownAccounts.find(serverId, accountNumber),
        ]);
        const missing = accountId === null ? new ApiError("ACCOUNT_NOT_FOUND") : null;
        return {
          rejection: firstRejection([rejectedByServer, missing]),
          accountId: accountId === UNKNOWN_ID ? null : accountId,
        };
      },
      ...(everyAnswerFields === undefined
        ? {}
        : { everyAnswerFields: (commandId, keyId) => everyAnswerFields(commandId, keyId, body) }),
    });
  };
}
