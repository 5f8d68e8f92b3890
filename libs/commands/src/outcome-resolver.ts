/**
 * Decides what an outcome or an error of the executor means for a command: whether it becomes final
 * or is retried.
 */
import { backOffMs, type Clock } from "@kapi/kernel";
import { isTransient } from "@kapi/postgres";
import type { Logger } from "@kapi/runtime";

import { type Entry, INTERNAL, type Rejection } from "./entry.ts";
import type { FinalOutcome, ClosedOutcome, CommandExecutor, CommandOutcome } from "./executor.ts";
import { MAX_UNEXPECTED_ERRORS } from "./limits.ts";
import type { BatchMode } from "./scheduler.ts";

/** The command becomes final with this outcome. */
export interface FinalResolution<Effect> {
  readonly kind: "final";
  readonly entry: Entry;
  readonly outcome: FinalOutcome<Effect>["outcome"];
}

/** What happens to a command after one call of the executor. */
export type Resolution<Effect> =
  | FinalResolution<Effect>
  /**
   * The command is retried. With `requeue`, the state `queued` and the number of attempts are
   * written to the inbox and published first.
   */
  | { readonly kind: "again"; readonly entry: Entry; readonly delayMs: number; readonly requeue: boolean }
  /**
   * Another transaction will make the command final. The command is retried if it is not final in
   * time.
   */
  | { readonly kind: "pending"; readonly entry: Entry; readonly requeue: false }
  /** The command is already final. */
  | { readonly kind: "ended"; readonly entry: Entry; readonly requeue: false };

const WITHDRAWN: Rejection = {
  errorCode: "REJECTED_BY_SERVER",
  errorMessage: "The command was closed before it was carried out",
};

/**
 * `clock` decides whether a deadline has passed; `random` (between 0 and 1) is for the jitter of
 * retries.
 */
interface OutcomeResolverOptions<Effect> {
  readonly clock: Clock;
  readonly random: () => number;
  readonly executor: Pick<CommandExecutor<Effect>, "isUnreachable">;
  readonly logger: Logger;
}

/** Converts outcomes and errors of the executor to resolutions. */
export class OutcomeResolver<Effect> {
  readonly #options: OutcomeResolverOptions<Effect>;

  constructor(options: OutcomeResolverOptions<Effect>) {
    this.#options = options;
  }

  /**
   * Resolves one outcome. Records on the entry whether the command may have been sent. Also records
   * a rejection if an earlier attempt may have been sent: the command is settled before it fails.
   */
  resolve(entry: Entry, outcome: CommandOutcome<Effect> | undefined, mode: BatchMode): Resolution<Effect> {
    const wasSent = entry.maybeSent;
    if (outcome === undefined)
      return this.resolveFailure(entry, new Error("the executor returned no outcome for the command"), mode);
    if (mode === "execute" && outcome.kind !== "refuse") entry.maybeSent = true;
    switch (outcome.kind) {
      case "succeeded":
      case "failed":
        return { kind: "final", entry, outcome };
      case "closed":
        return this.#closed(entry, mode);
      case "refuse":
        if (mode !== "execute")
          return this.resolveFailure(entry, new Error("the executor returned `refuse` from settle"), mode);
        if (!wasSent) return { kind: "final", entry, outcome: failedBy(outcome) };
        entry.rejection = outcome;
        return { kind: "again", entry, delayMs: 0, requeue: false };
      case "unreachable":
      case "retry":
        this.#logRetry(entry, mode, outcome.kind === "unreachable", { reason: outcome.reason });
        return { kind: "again", entry, delayMs: this.pauseMs(entry), requeue: mode === "execute" };
      case "pending":
        return { kind: "pending", entry, requeue: false };
      case "finished":
        return { kind: "ended", entry, requeue: false };
    }
  }

  /** Resolves one command after the executor threw, or returned no valid outcome for it. */
  resolveFailure(entry: Entry, error: unknown, mode: BatchMode): Resolution<Effect> {
    if (mode === "execute") entry.maybeSent = true;
    const isUnreachable = this.#options.executor.isUnreachable(error);
    if (isUnreachable || isTransient(error)) {
      this.#logRetry(entry, mode, isUnreachable, { err: error });
      return { kind: "again", entry, delayMs: this.pauseMs(entry), requeue: mode === "execute" };
    }
    entry.unexpectedErrors += 1;
    this.#options.logger.error(
      { ...logFieldsOf(entry), err: error, unexpectedErrors: entry.unexpectedErrors },
      "an attempt of a command ended in an unexpected error",
    );
    if (mode === "execute" && entry.unexpectedErrors >= MAX_UNEXPECTED_ERRORS) {
      entry.rejection = INTERNAL;
      return { kind: "again", entry, delayMs: 0, requeue: true };
    }
    // Another command of the batch may have caused the first error: retry at once, alone.
    const delayMs = entry.unexpectedErrors === 1 ? 0 : this.pauseMs(entry);
    return { kind: "again", entry, delayMs, requeue: mode === "execute" };
  }

  /** Pause before the next attempt of `entry`. */
  pauseMs(entry: Entry): number {
    return backOffMs(Math.max(1, entry.attempts), this.#options.random);
  }

  /** The runbook of the alert KapiCommandsWait uses these log lines: `docs/operate.md`. */
  #logRetry(entry: Entry, mode: BatchMode, isUnreachable: boolean, why: { reason: string } | { err: unknown }): void {
    const unanswered = mode === "settle" ? "settlement" : "change";
    this.#options.logger.warn(
      { ...logFieldsOf(entry), ...(isUnreachable ? { unanswered } : {}), ...why },
      mode === "settle" ? "command could not be settled" : "command goes back to the queue",
    );
  }

  #closed(entry: Entry, mode: BatchMode): Resolution<Effect> {
    if (entry.rejection !== null) return { kind: "final", entry, outcome: failedBy(entry.rejection) };
    if (this.#options.clock.nowMs() < entry.deadlineMs) {
      return { kind: "final", entry, outcome: failedBy(WITHDRAWN) };
    }
    // Only a queued command expires, and this one may be leased: requeue it, then settle it.
    if (mode === "execute") return { kind: "again", entry, delayMs: 0, requeue: true };
    return { kind: "final", entry, outcome: EXPIRED };
  }
}

const EXPIRED: ClosedOutcome = {
  kind: "closed",
  status: "expired",
  errorCode: null,
  errorMessage: "The command was not carried out before its deadline",
};

function logFieldsOf({ message, attempts }: Entry): Record<string, unknown> {
  const { commandId, serverId, accountNumber, operation } = message;
  return { commandId, serverId, accountNumber, operation, attempts };
}

function failedBy({ errorCode, errorMessage }: Rejection): ClosedOutcome {
  return { kind: "closed", status: "failed", errorCode, errorMessage };
}
