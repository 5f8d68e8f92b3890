/**
 * What an executor's outcome means for a command: a pure decision, so that every rule about endings
 * is in one place.
 */
import { backOffMs, type Clock } from "@kapi/kernel";
import { isTransient } from "@kapi/postgres";
import type { Logger } from "@kapi/runtime";

import { type Entry, INTERNAL, type Refusal } from "./entry.ts";
import type { AppliedOutcome, ClosedOutcome, CommandExecutor, CommandOutcome } from "./executor.ts";
import { MAX_BROKEN_ATTEMPTS } from "./limits.ts";
import type { BatchMode } from "./scheduler.ts";

/** The command ends with this. */
export interface FinalVerdict<Effect> {
  readonly kind: "final";
  readonly entry: Entry;
  readonly outcome: AppliedOutcome<Effect>["outcome"];
}

export type Verdict<Effect> =
  | FinalVerdict<Effect>
  /** It runs again; `requeue` where the attempt is to be written and told. */
  | { readonly kind: "again"; readonly entry: Entry; readonly delayMs: number; readonly requeue: boolean }
  /** It applied; a fact on its way makes it final. It runs again where that does not come. */
  | { readonly kind: "pending"; readonly entry: Entry; readonly requeue: false }
  /** It was made final already. */
  | { readonly kind: "ended"; readonly entry: Entry; readonly requeue: false };

const WITHDRAWN: Refusal = {
  errorCode: "REJECTED_BY_SERVER",
  errorMessage: "The command was closed before it was carried out",
};

export interface JudgeOptions<Effect> {
  readonly clock: Clock;
  readonly random: () => number;
  readonly executor: Pick<CommandExecutor<Effect>, "isUnreachable">;
  readonly logger: Logger;
}

export class Judge<Effect> {
  readonly #options: JudgeOptions<Effect>;

  constructor(options: JudgeOptions<Effect>) {
    this.#options = options;
  }

  /**
   * The verdict on one outcome. Notes on the entry whether the trading server may know of the
   * command.
   */
  outcome(entry: Entry, outcome: CommandOutcome<Effect> | undefined, mode: BatchMode): Verdict<Effect> {
    const wasSent = entry.maybeSent;
    if (outcome === undefined) return this.failure(entry, new Error("no outcome for the command"), mode);
    if (mode === "execute" && outcome.kind !== "refuse") entry.maybeSent = true;
    switch (outcome.kind) {
      case "succeeded":
      case "failed":
        return { kind: "final", entry, outcome };
      case "closed":
        return this.#closed(entry, mode);
      case "refuse":
        if (mode !== "execute") return this.failure(entry, new Error("settling gave a refusal of our own"), mode);
        if (!wasSent) return { kind: "final", entry, outcome: failedBy(outcome) };
        entry.refusal = outcome;
        return { kind: "again", entry, delayMs: 0, requeue: false };
      case "unreachable":
      case "retry":
        this.#options.logger.warn(
          { commandId: entry.message.commandId, attempts: entry.attempts, reason: outcome.reason },
          "command goes back to the queue",
        );
        return { kind: "again", entry, delayMs: this.pauseMs(entry), requeue: mode === "execute" };
      case "pending":
        return { kind: "pending", entry, requeue: false };
      case "finished":
        return { kind: "ended", entry, requeue: false };
    }
  }

  /** The verdict on a batch that threw. */
  failure(entry: Entry, error: unknown, mode: BatchMode): Verdict<Effect> {
    if (mode === "execute") entry.maybeSent = true;
    const expected = this.#options.executor.isUnreachable(error) || isTransient(error);
    const { commandId } = entry.message;
    if (expected) {
      this.#options.logger.warn({ err: error, commandId, attempts: entry.attempts }, "command goes back to the queue");
      return { kind: "again", entry, delayMs: this.pauseMs(entry), requeue: mode === "execute" };
    }
    entry.broken += 1;
    this.#options.logger.error({ err: error, commandId, broken: entry.broken }, "command ended in an unexpected error");
    if (mode === "execute" && entry.broken >= MAX_BROKEN_ATTEMPTS) {
      entry.refusal = INTERNAL;
      return { kind: "again", entry, delayMs: 0, requeue: true };
    }
    // The first such error may be another command's of the batch: at once again, alone.
    const delayMs = entry.broken === 1 ? 0 : this.pauseMs(entry);
    return { kind: "again", entry, delayMs, requeue: mode === "execute" };
  }

  /** Pause before the next attempt of `entry`. */
  pauseMs(entry: Entry): number {
    return backOffMs(Math.max(1, entry.attempts), this.#options.random);
  }

  #closed(entry: Entry, mode: BatchMode): Verdict<Effect> {
    if (entry.refusal !== null) return { kind: "final", entry, outcome: failedBy(entry.refusal) };
    if (this.#options.clock.nowMs() < entry.deadlineMs) {
      return { kind: "final", entry, outcome: failedBy(WITHDRAWN) };
    }
    // An attempt may be shown as leased, and only a queued command expires: back to the queue, to
    // be settled there.
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

function failedBy({ errorCode, errorMessage }: Refusal): ClosedOutcome {
  return { kind: "closed", status: "failed", errorCode, errorMessage };
}
