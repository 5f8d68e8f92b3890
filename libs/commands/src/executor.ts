/**
 * The seam between the machinery of commands and the service that carries them out. The worker
 * decides when a command runs, again runs, expires and is final; the executor knows what a command
 * means and talks to the trading server.
 */
import type { CommandErrorCode, CommandMessage, StoredCommandMessage } from "@kapi/contracts";

import type { WorkTransaction } from "./work.ts";

/**
 * A command that this process may work on now: its partition is leased here and it is the first of
 * its account.
 */
export interface LeasedCommand {
  readonly message: CommandMessage;
  /** Which attempt this is, from 1. */
  readonly attempt: number;
}

/**
 * A command that was perhaps sent and is not sent again. Its message may be one that cannot be
 * read.
 */
export interface UnsettledCommand {
  readonly message: StoredCommandMessage;
}

/** What became of one command in one call of the executor. */
export type CommandOutcome<Effect> =
  /**
   * Done. `effect` is handed to {@link CommandExecutor.apply} in the transaction that makes the
   * command final.
   */
  | { readonly kind: "succeeded"; readonly result: Record<string, unknown>; readonly effect: Effect }
  /** The trading server recorded a refusal: it can never apply any more. */
  | {
      readonly kind: "failed";
      readonly errorCode: CommandErrorCode;
      readonly errorMessage: string;
      readonly effect: Effect;
    }
  /**
   * We ourselves will not carry it out (server disabled). Only for a command that was NOT sent in
   * this call. If an earlier attempt may have sent it, the worker settles it before it fails.
   */
  | { readonly kind: "refuse"; readonly errorCode: CommandErrorCode; readonly errorMessage: string }
  /**
   * The reference is closed: it was not and can never be applied. Expired, or failed as `refuse`
   * told.
   */
  | { readonly kind: "closed" }
  /**
   * Nothing is known, and the trading server cannot be reached: again later; counts for the
   * server's breaker.
   */
  | { readonly kind: "unreachable"; readonly reason: string }
  /**
   * Something of our own is not ready (the database, a directory entry): again later, breaker
   * untouched.
   */
  | { readonly kind: "retry"; readonly reason: string }
  /**
   * It applied, and a settled fact that is on its way makes it final (`finish` in
   * {@link WorkTransaction}).
   */
  | { readonly kind: "pending" }
  /** The executor already made it final through {@link WorkTransaction.finish}. */
  | { readonly kind: "finished" };

/** A command and its outcome, as {@link CommandExecutor.apply} takes them. */
export interface AppliedOutcome<Effect> {
  readonly message: StoredCommandMessage;
  readonly outcome: Extract<CommandOutcome<Effect>, { kind: "succeeded" | "failed" }> | ClosedOutcome;
}

/** A command that ends without having been applied: expired, refused by us, or failed INTERNAL. */
export interface ClosedOutcome {
  readonly kind: "closed";
  readonly status: "failed" | "expired";
  readonly errorCode: CommandErrorCode | null;
  readonly errorMessage: string | null;
}

/**
 * What a service gives to the worker. `execute` and `settle` get at most `MAX_BATCH_COMMANDS`
 * commands of one server, each of another account, and answer one outcome for each, in order. A
 * call that throws counts as `unreachable` for all its commands where
 * {@link CommandExecutor.isUnreachable} says so, as `retry` where the database was away. After any
 * other error its commands run one by one; one that throws again and again is settled and fails
 * INTERNAL.
 */
export interface CommandExecutor<Effect> {
  /**
   * Carries commands out on the server, by reference (= command id): the same command may come
   * again.
   */
  execute(serverId: string, commands: readonly LeasedCommand[]): Promise<readonly CommandOutcome<Effect>[]>;
  /**
   * Learns what became of commands that were perhaps sent, and closes them where nothing did: never
   * answers `refuse`. `closed` for a command that no trading server knows of.
   */
  settle(serverId: string, commands: readonly UnsettledCommand[]): Promise<readonly CommandOutcome<Effect>[]>;
  /**
   * Writes the effects of many commands inside the transaction that makes them final, in a handful
   * of statements. The returned map replaces the `result` of the commands in it. Facts to publish
   * go through `transaction.enqueue`.
   */
  apply(
    transaction: WorkTransaction,
    applied: readonly AppliedOutcome<Effect>[],
  ): Promise<ReadonlyMap<string, Record<string, unknown>>>;
  /**
   * Whether an error thrown by `execute` or `settle` means that the trading server gave no clear
   * answer.
   */
  isUnreachable(error: unknown): boolean;
}
