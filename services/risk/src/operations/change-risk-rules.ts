/**
 * Carries out commands that change risk rules: stores a new version of the rules of an account. The
 * owner of the account's partition makes the version active, and the command succeed, in one
 * transaction.
 */
import type { CommandExecutor, CommandOutcome, LeasedCommand } from "@kapi/commands";
import type { CommandMessage, RiskRule, Valuation } from "@kapi/contracts";

import type { AccountValues } from "../domain/evaluation.ts";
import type { AccountForRisk, NewRuleVersion, ReadAccount } from "../domain/ports.ts";

/** Maximum number of concurrent reads of accounts. */
const MAX_CONCURRENT_READS = 8;

export interface ChangeRiskRulesDependencies {
  readonly readAccount: ReadAccount;
  /** Stores a version after the newest one, once for each command. */
  readonly addVersion: (version: NewRuleVersion) => Promise<void>;
  /** Whether the account service, or the trading server behind it, gave no clear answer. */
  readonly isUnavailable: (error: unknown) => boolean;
}

type Outcome = CommandOutcome<null>;

/** The executor of `commands.risk`. */
export function createRiskExecutor(dependencies: ChangeRiskRulesDependencies): CommandExecutor<null> {
  return {
    async execute(_serverId, commands) {
      const outcomes: Outcome[] = [];
      for (let at = 0; at < commands.length; at += MAX_CONCURRENT_READS) {
        const some = commands.slice(at, at + MAX_CONCURRENT_READS);
        outcomes.push(...(await Promise.all(some.map((command) => changeRiskRules(dependencies, command)))));
      }
      return outcomes;
    },
    // A version becomes active only together with its command: a command that is still open has no
    // active version, and a version of a closed command is discarded.
    settle: (_serverId, commands) => Promise.resolve(commands.map(() => ({ kind: "closed" }))),
    apply: () => Promise.resolve(new Map()),
    isUnreachable: () => false,
  };
}

async function changeRiskRules(
  { readAccount, addVersion, isUnavailable }: ChangeRiskRulesDependencies,
  { message }: LeasedCommand,
): Promise<Outcome> {
  const { serverId, accountNumber, commandId, organizationId } = message;
  const rules = rulesOf(message);
  if (rules === null || accountNumber === null) return refuse("INTERNAL", `${message.operation} is no change of rules`);
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
  const seed = valuesOf(valuation);
  await addVersion({
    serverId,
    accountNumber,
    organizationId,
    accountId,
    rules,
    seed,
    initialBalanceMinor,
    currency,
    commandId,
  });
  return { kind: "pending" };
}

function rulesOf(message: CommandMessage): readonly RiskRule[] | null {
  if (message.operation === "risk.set_rules") return message.payload.rules;
  return message.operation === "risk.delete_rules" ? [] : null;
}

function valuesOf({ measuredAt, equityMinor, balanceMinor, netDepositsMinor }: Valuation): AccountValues {
  return {
    measuredAtMs: Date.parse(measuredAt),
    equityMinor,
    balanceMinor,
    netDepositsMinor: netDepositsMinor ?? null,
  };
}

function refuse(errorCode: "ACCOUNT_NOT_FOUND" | "ACCOUNT_NOT_READY" | "INTERNAL", errorMessage: string): Outcome {
  return { kind: "refuse", errorCode, errorMessage };
}
