/**
 * Carries out commands that change risk rules: stores a new version of the rules of an account. In
 * one transaction, the owner of the account's partition then makes the version active and finishes
 * the command as succeeded.
 */
import type { CommandOutcome, LeasedCommand } from "@kapi/commands";
import type { CommandErrorCode, CommandMessage, Valuation } from "@kapi/contracts";

import type { AccountValues } from "../domain/evaluation.ts";
import type { AccountForRisk, NewRuleVersion, ReadAccount } from "../domain/ports.ts";
import { firstSelected, type SelectableAccount, type Template } from "../domain/template.ts";

/**
 * What {@link changeRiskRules} reads and stores. The command is retried, not failed, if
 * `isUnavailable` is true for an error of `readAccount` or `addVersion`.
 */
export interface ChangeRiskRulesDependencies {
  readonly readAccount: ReadAccount;
  /** Stores the next version of the account's rules, once for each command. */
  readonly addVersion: (version: NewRuleVersion) => Promise<void>;
  /** The templates of a server, also deleted ones, in the order of their creation. */
  readonly templatesOf: (serverId: string) => Promise<readonly Template[]>;
  /**
   * Whether the account service, or the trading server behind it, gave no clear answer. Also true
   * if the database is unavailable, or another process stored a version of the account's rules at
   * the same time.
   */
  readonly isUnavailable: (error: unknown) => boolean;
}

type Outcome = CommandOutcome<null>;

/**
 * Stores the version of the rules that a command asks for. The owner of the partition completes the
 * command.
 */
export async function changeRiskRules(
  { readAccount, addVersion, templatesOf, isUnavailable }: ChangeRiskRulesDependencies,
  { message }: LeasedCommand,
): Promise<Outcome> {
  const { serverId, accountNumber, commandId, organizationId } = message;
  if (accountNumber === null) return refuse("INTERNAL", `${message.operation} names no account`);
  let account: AccountForRisk | null;
  try {
    account = await readAccount({ serverId, accountNumber });
  } catch (error) {
    if (isUnavailable(error)) return { kind: "retry", reason: "the values of the account are unavailable" };
    throw error;
  }
  if (account === null) return refuse("ACCOUNT_NOT_FOUND", "the account does not exist");
  const { accountId, currency, initialBalanceMinor, valuation } = account;
  if (valuation === null) return refuse("ACCOUNT_NOT_READY", "the account is not open on the trading server yet");
  const asked = rulesOf(message, account, await templatesOf(serverId));
  if (asked === null) return refuse("INVALID_STATE_TRANSITION", "no risk template of the server matches the account");
  const seed = valuesOf(valuation);
  const version = { serverId, accountNumber, organizationId, accountId, ...asked, seed, initialBalanceMinor };
  try {
    await addVersion({ ...version, currency, commandId });
  } catch (error) {
    if (isUnavailable(error)) return { kind: "retry", reason: "the version of the rules cannot be stored now" };
    throw error;
  }
  return { kind: "pending" };
}

/** The rules that a command asks for; null if it asks for a template and none matches. */
function rulesOf(
  message: CommandMessage,
  account: SelectableAccount,
  templates: readonly Template[],
): Pick<NewRuleVersion, "rules" | "template"> | null {
  if (message.operation === "risk.set_rules") return { rules: message.payload.rules, template: null };
  if (message.operation !== "risk.delete_rules" || message.payload.useTemplate !== true) {
    return { rules: [], template: null };
  }
  const template = firstSelected(templates, account);
  return template === null ? null : { rules: template.rules, template };
}

/** The values of a valuation that are compared with rules. */
export function valuesOf({ measuredAt, equityMinor, balanceMinor, netDepositsMinor }: Valuation): AccountValues {
  return {
    measuredAtMs: Date.parse(measuredAt),
    equityMinor,
    balanceMinor,
    netDepositsMinor: netDepositsMinor ?? null,
  };
}

function refuse(errorCode: CommandErrorCode, errorMessage: string): Outcome {
  return { kind: "refuse", errorCode, errorMessage };
}
