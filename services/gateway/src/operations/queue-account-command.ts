import type { CommandOperation } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import type { z } from "zod";

import type { CommandDraft } from "../domain/command-message.ts";
import { UNKNOWN_ID } from "../domain/ports.ts";
import type { Operation } from "./call.ts";
import { refuse } from "./charge-read.ts";
import type { Needs } from "./needs.ts";
import { firstFinding, queueCommand } from "./queue-command.ts";
import { Findings, removedServer } from "./validate.ts";

/** A queued operation on an account that exists: what it has of its own. */
export interface AccountCommand<B extends CommandDraft["body"]> {
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

/** What all queued operations on an account have in common: all but {@link AccountCommand}. */
export function queueAccountCommand<B extends CommandDraft["body"]>(
  needs: Needs,
  command: AccountCommand<B>,
): Operation {
  return async (call) => {
    const findings = new Findings();
    const serverId = findings.serverId(call);
    const accountNumber = findings.accountNumber(call);
    const idempotencyKey = findings.idempotencyKey(call);
    const body = findings.body(call, command.body);
    const error = findings.error();
    if (error !== null || body === null) return refuse(needs, call, error ?? new ApiError("VALIDATION_FAILED"));
    const { serverFinding, everyTime } = command;
    return queueCommand(needs, call, {
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
          needs.knownAccounts.find(serverId, accountNumber),
        ]);
        const missing = accountId === null ? new ApiError("ACCOUNT_NOT_FOUND") : null;
        return { finding: firstFinding([ofServer, missing]), accountId: accountId === UNKNOWN_ID ? null : accountId };
      },
      ...(everyTime === undefined ? {} : { everyTime: (commandId, keyId) => everyTime(commandId, keyId, body) }),
    });
  };
}
