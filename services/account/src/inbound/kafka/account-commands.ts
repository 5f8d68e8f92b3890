/**
 * The executor of commands.account: creations one way, operations on existing accounts the other,
 * side by side.
 */
import type { AppliedOutcome, CommandExecutor, CommandOutcome, LeasedCommand, UnsettledCommand } from "@kapi/commands";
import type { CommandHeader } from "@kapi/contracts";
import { assertDefined } from "@kapi/kernel";

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

export interface AccountCommandsOptions {
  readonly creations: CreationCommandsOptions;
  readonly changes: ChangeCommandsOptions;
  /** Whether an error means that the trading server gave no clear answer. */
  readonly isUnreachable: (error: unknown) => boolean;
}

type Effect = CreationEffect | ChangeEffect;
type Way = "creation" | "change" | "unknown";

/** The executor of commands.account. */
export function createAccountCommands(options: AccountCommandsOptions): CommandExecutor<Effect> {
  const { creations, changes, isUnreachable } = options;
  const wayOf = ({ operation }: CommandHeader): Way => {
    if (operation === "account.create") return "creation";
    return changes.operations.has(operation) ? "change" : "unknown";
  };
  return {
    execute: (serverId, commands) =>
      eachItsWay(commands, wayOf, {
        creation: (some) => executeCreations(creations, serverId, some),
        change: (some) => executeChanges(changes, serverId, some),
        unknown: (some) => Promise.resolve(some.map(unknownOperation)),
      }),
    settle: (serverId, commands) =>
      eachItsWay(commands, wayOf, {
        creation: (some) => settleCreations(creations, serverId, some),
        change: (some) => settleChanges(changes, serverId, some),
        unknown: (some) => Promise.resolve(some.map(() => ({ kind: "closed" }))),
      }),
    async apply(transaction, applied) {
      const created = applied.filter(({ message }) => wayOf(message) === "creation");
      const changed = applied.filter(({ message }) => wayOf(message) === "change");
      changes.book.lock(transaction, applied.flatMap(accountIdOf));
      // Which effect a command has follows from its operation.
      if (created.length > 0) {
        await applyCreations(creations, transaction, created as AppliedOutcome<CreationEffect>[]);
      }
      if (changed.length === 0) return new Map();
      return await applyChanges(changes, transaction, changed as AppliedOutcome<ChangeEffect>[]);
    },
    isUnreachable,
  };
}

/** Of a change that failed no row is locked by id. */
function accountIdOf({ message, outcome }: AppliedOutcome<Effect>): string[] {
  if (outcome.kind === "succeeded" && "account" in outcome.effect) return [outcome.effect.account.id];
  if (message.operation !== "account.create" || message.managedAccountId === null) return [];
  return [message.managedAccountId];
}

type Outcomes = Promise<CommandOutcome<Effect>[]>;

/** Hands each command to what handles it; one outcome each, in the order of the commands. */
async function eachItsWay<C extends UnsettledCommand>(
  commands: readonly C[],
  wayOf: (message: CommandHeader) => Way,
  ways: Readonly<Record<Way, (commands: readonly C[]) => Outcomes>>,
): Outcomes {
  const outcomes = new Map<C, CommandOutcome<Effect>>();
  const byWay = Map.groupBy(commands, ({ message }) => wayOf(message));
  await Promise.all(
    [...byWay].map(async ([way, some]) => {
      for (const [index, outcome] of (await ways[way](some)).entries()) {
        outcomes.set(assertDefined(some[index], "a command for each outcome"), outcome);
      }
    }),
  );
  return commands.map((command) => assertDefined(outcomes.get(command), "an outcome for each command"));
}

function unknownOperation({ message }: LeasedCommand): CommandOutcome<Effect> {
  const errorMessage = `${message.operation} cannot be carried out by this version`;
  return { kind: "refuse", errorCode: "INTERNAL", errorMessage };
}
