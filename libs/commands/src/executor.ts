/**
 * The interface between the worker and the service that carries commands out. The worker decides
 * when a command runs, is retried, expires and becomes final. The executor knows what a command
 * means and calls the trading server.
 */
import type { CommandErrorCode, CommandMessage, StoredCommandMessage } from "@kapi/contracts";

import type { WorkTransaction } from "./work.ts";

/**
 * A command that this process may carry out now: this process holds the lease of its partition, and
 * every earlier command of its account is final or comes before it in the same call.
 */
export interface LeasedCommand {
  readonly message: CommandMessage;
  /** Which attempt this is, from 1. */
  readonly attempt: number;
}

/** A command that was perhaps sent and is not sent again. Its message may be unreadable. */
export interface UnsettledCommand {
  readonly message: StoredCommandMessage;
}

/** The outcome of one command in one call of the executor. */
export type CommandOutcome<Effect> =
  /**
   * Applied. {@link CommandExecutor.apply} gets `effect` in the transaction that makes the command
   * final.
   */
  | { readonly kind: "succeeded"; readonly result: Record<string, unknown>; readonly effect: Effect }
  /**
   * The command can never apply: the trading server recorded a rejection or, for an export, a
   * service that owns the history does not know the account. If the trading server applied a part
   * of the change before the rejection (a flatten), `effect` has this part.
   */
  | {
      readonly kind: "failed";
      readonly errorCode: CommandErrorCode;
      readonly errorMessage: string;
      readonly effect: Effect;
    }
  /**
   * kapi rejects the command (server disabled). Only for a command that was NOT sent in this call.
   * If an earlier attempt may have sent it, the worker settles it before it fails.
   */
  | { readonly kind: "refuse"; readonly errorCode: CommandErrorCode; readonly errorMessage: string }
  /**
   * The reference is closed: the change did not apply and never will. The command fails with the
   * error of an earlier `refuse`, or with INTERNAL if it could not be processed. Without such an
   * error, the command expires if its deadline has passed, and fails if not.
   */
  | { readonly kind: "closed" }
  /**
   * The trading server cannot be reached and the outcome is unknown. Retried later; counts for the
   * server's breaker.
   */
  | { readonly kind: "unreachable"; readonly reason: string }
  /**
   * The command must wait: a dependency of kapi is not ready (the database, a directory entry), the
   * call was not sent, or the change is incomplete (a flatten while a market is closed). Retried
   * later; does not count for the breaker.
   */
  | { readonly kind: "retry"; readonly reason: string }
  /**
   * Another transaction will make the command final through {@link WorkTransaction.finish}. Finance
   * books the trading event of the applied change; risk activates the stored rules.
   */
  | { readonly kind: "pending" }
  /** The executor already made the command final through {@link WorkTransaction.finish}. */
  | { readonly kind: "finished" };

/** A command that becomes final, and its outcome, for {@link CommandExecutor.apply}. */
export interface FinalOutcome<Effect> {
  readonly message: StoredCommandMessage;
  readonly outcome: Extract<CommandOutcome<Effect>, { kind: "succeeded" | "failed" }> | ClosedOutcome;
}

/**
 * A command that becomes final and did not apply: expired, rejected by kapi, closed before its
 * deadline, or INTERNAL.
 */
export interface ClosedOutcome {
  readonly kind: "closed";
  readonly status: "failed" | "expired";
  readonly errorCode: CommandErrorCode | null;
  readonly errorMessage: string | null;
}

/**
 * Implemented by each service. `execute` and `settle` get at most `MAX_BATCH_COMMANDS` commands of
 * one server, and return one outcome per command, in order. Each command is of a different account,
 * unless the worker has `maxAccountCommands`. Then `execute` may get several commands of an
 * account. It carries them out in the given order, also after a command that did not apply.
 *
 * If a call throws, all its commands count as `unreachable` if
 * {@link CommandExecutor.isUnreachable} returns true, or as `retry` if the database was
 * unavailable. After any other error its commands run one by one. A command that keeps throwing is
 * settled, and fails INTERNAL if it never applied.
 */
export interface CommandExecutor<Effect> {
  /**
   * Carries commands out on the server, by reference (= command id). A later call may get the same
   * command again.
   */
  execute(serverId: string, commands: readonly LeasedCommand[]): Promise<readonly CommandOutcome<Effect>[]>;
  /**
   * Gets the outcome of commands that may have been sent, and closes references that have no
   * outcome. Never returns `refuse`. A service whose commands call no trading server (export, risk)
   * always returns `closed`.
   */
  settle(serverId: string, commands: readonly UnsettledCommand[]): Promise<readonly CommandOutcome<Effect>[]>;
  /**
   * Writes the effects of many commands in the transaction that makes them final, in a few
   * statements. Returns results by command id: each replaces the `result` of its command. Events
   * are published with `transaction.enqueue`.
   */
  apply(
    transaction: WorkTransaction,
    outcomes: readonly FinalOutcome<Effect>[],
  ): Promise<ReadonlyMap<string, Record<string, unknown>>>;
  /**
   * Whether an error of `execute` or `settle` means that the trading server gave no clear answer.
   */
  isUnreachable(error: unknown): boolean;
}
