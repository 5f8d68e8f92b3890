/**
 * The executor of commands.account: handles creations and operations on existing accounts in
 * parallel.
 */
import {
  type FinalOutcome,
  type CommandExecutor,
  type CommandOutcome,
  type LeasedCommand,
  retryIfNotSent,
  type UnsettledCommand,
} from "@kapi/commands";
import type { CommandHeader } from "@kapi/contracts";
import { assertDefined } from "@kapi/kernel";

import type { AccountChanger } from "../../domain/ports.ts";
import {
  applyChanges,
  type ChangeCommandsOptions,
  type ChangeEffect,
  executeChanges,
  settleChanges,
} from "./change-commands.ts";
import {
  applyCreations,
  type CreationCommandsOptions,
  type CreationEffect,
  executeCreations,
  settleCreations,
} from "./creation-commands.ts";

/** The handlers of creations and changes, and the classification of the trading server's errors. */
export interface AccountCommandsOptions {
  readonly creations: CreationCommandsOptions;
  readonly changes: ChangeCommandsOptions;
  /** Settles commands whose operation this version does not know. */
  readonly changer: Pick<AccountChanger, "settle">;
  /** Whether the trading server gave no clear answer. */
  readonly isUnreachable: (error: unknown) => boolean;
  /** Whether a call to the trading server failed before it was sent. */
  readonly isNotSent: (error: unknown) => boolean;
}

type Effect = CreationEffect | ChangeEffect;
type CommandCategory = "creation" | "change" | "unknown";

/**
 * Creates the executor for the command worker. A command of an operation that this version does not
 * know fails INTERNAL. But if the trading server has an outcome of the command, the command is
 * retried. `apply` locks the accounts of all its commands before it writes any row, so that
 * transactions do not deadlock.
 */
export function createAccountCommands(options: AccountCommandsOptions): CommandExecutor<Effect> {
  const { creations, changes, changer, isUnreachable, isNotSent } = options;
  const categoryOf = ({ operation }: CommandHeader): CommandCategory => {
    if (operation === "account.create") return "creation";
    return changes.operations.has(operation) ? "change" : "unknown";
  };
  return {
    execute: (serverId, commands) =>
      dispatch(commands, categoryOf, {
        creation: (some) => retryIfNotSent(some, isNotSent, () => executeCreations(creations, serverId, some)),
        change: (some) => retryIfNotSent(some, isNotSent, () => executeChanges(changes, serverId, some)),
        unknown: (some) => Promise.resolve(some.map(unknownOperation)),
      }),
    settle: (serverId, commands) =>
      dispatch(commands, categoryOf, {
        creation: (some) => retryIfNotSent(some, isNotSent, () => settleCreations(creations, serverId, some)),
        change: (some) => retryIfNotSent(some, isNotSent, () => settleChanges(changes, serverId, some)),
        unknown: (some) => retryIfNotSent(some, isNotSent, () => settleUnknown(changer, serverId, some)),
      }),
    async apply(transaction, applied) {
      const created = applied.filter(({ message }) => categoryOf(message) === "creation");
      const changed = applied.filter(({ message }) => categoryOf(message) === "change");
      changes.repository.lock(transaction, applied.flatMap(accountIdOf));
      // The operation determines the type of the effect.
      if (created.length > 0) {
        await applyCreations(creations, transaction, created as FinalOutcome<CreationEffect>[]);
      }
      if (changed.length === 0) return new Map();
      return await applyChanges(changes, transaction, changed as FinalOutcome<ChangeEffect>[]);
    },
    isUnreachable,
  };
}

/**
 * The account whose row is locked before all statements of the transaction, also if its command
 * failed and was carried out in part. None if nothing is written to the account.
 */
function accountIdOf({ message, outcome }: FinalOutcome<Effect>): string[] {
  if (outcome.kind !== "closed" && "account" in outcome.effect) return [outcome.effect.account.id];
  if (message.operation !== "account.create" || message.managedAccountId === null) return [];
  return [message.managedAccountId];
}

type Outcomes = Promise<readonly CommandOutcome<Effect>[]>;

/** Dispatches commands to their handlers; returns one result for each, in order. */
async function dispatch<C extends UnsettledCommand>(
  commands: readonly C[],
  categoryOf: (message: CommandHeader) => CommandCategory,
  handlers: Readonly<Record<CommandCategory, (commands: readonly C[]) => Outcomes>>,
): Outcomes {
  const outcomes = new Map<C, CommandOutcome<Effect>>();
  const byCategory = Map.groupBy(commands, ({ message }) => categoryOf(message));
  await Promise.all(
    [...byCategory].map(async ([category, some]) => {
      for (const [index, outcome] of (await handlers[category](some)).entries()) {
        outcomes.set(assertDefined(some[index], "a command for each outcome"), outcome);
      }
    }),
  );
  return commands.map((command) => assertDefined(outcomes.get(command), "an outcome for each command"));
}

/**
 * A process of a newer version may have sent these commands. If the trading server has an outcome,
 * only that version knows its effects, so the command waits. If the reference is closed, the change
 * is never applied, so the command becomes final.
 */
async function settleUnknown(
  changer: AccountCommandsOptions["changer"],
  serverId: string,
  commands: readonly UnsettledCommand[],
): Outcomes {
  const outcomes = await changer.settle(
    serverId,
    commands.map(({ message }) => message.commandId),
  );
  return commands.map(({ message }, index) => {
    const outcome = assertDefined(outcomes[index], "an outcome for each reference");
    if (outcome.kind === "closed") return outcome;
    const reason = `this version cannot carry out ${message.operation}: the command waits for a newer process`;
    return { kind: "retry", reason };
  });
}

function unknownOperation({ message }: LeasedCommand): CommandOutcome<Effect> {
  const errorMessage = `${message.operation} cannot be carried out by this version`;
  return { kind: "refuse", errorCode: "INTERNAL", errorMessage };
}
