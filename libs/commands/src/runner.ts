/**
 * Runs batches: asks the executor, turns its outcomes into verdicts, and writes those under the
 * fence. A command becomes final here, or through a settled fact that another part of the service
 * books.
 */
import { assert, type Clock } from "@kapi/kernel";
import { isTransient } from "@kapi/postgres";
import { faultPoint, inBatchSpan, type Logger } from "@kapi/runtime";

import { column } from "./columns.ts";
import { mayMove } from "./command-state.ts";
import { EndWatch } from "./end-watch.ts";
import { isMarked } from "./decode.ts";
import type { Entry } from "./entry.ts";
import type { CommandExecutor, CommandOutcome, LeasedCommand } from "./executor.ts";
import type { Lease, LeaseBook } from "./lease-book.ts";
import { LEASED_EVENT_AFTER_MS, PENDING_TIMEOUT_MS } from "./limits.ts";
import type { BatchMode, ServerAnswer } from "./scheduler.ts";
import { AttemptSpans } from "./attempt-spans.ts";
import { READ_OPEN } from "./statements.ts";
import type { CommandStore } from "./store.ts";
import type { StateChange, Unit } from "./unit.ts";
import type { OpenCommand } from "./work.ts";
import { type FinalVerdict, Judge, type Verdict } from "./verdict.ts";

export interface RunnerOptions<Effect> {
  readonly worker: string;
  readonly store: CommandStore;
  readonly leases: LeaseBook;
  readonly executor: CommandExecutor<Effect>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** The command is final. */
  readonly onEnd: (entry: Entry) => void;
  /** The command has to run again after `delayMs`, unless it ends before by another path. */
  readonly onAgain: (entry: Entry, delayMs: number) => void;
  /** The fence of a partition is no longer ours. */
  readonly onLost: (lease: Lease) => void;
}

export class Runner<Effect> {
  readonly #options: RunnerOptions<Effect>;
  readonly #judge: Judge<Effect>;
  readonly #endWatch: EndWatch;

  constructor(options: RunnerOptions<Effect>) {
    this.#options = options;
    this.#judge = new Judge(options);
    this.#endWatch = new EndWatch({
      database: options.store.database,
      onEnd: options.onEnd,
      onError: (error) => options.logger.warn({ err: error }, "pending commands could not be looked at"),
    });
  }

  stop(): void {
    this.#endWatch.stop();
  }

  /** Runs one batch of one server to its verdicts. Never rejects. */
  async run(serverId: string, mode: BatchMode, batch: readonly Entry[]): Promise<ServerAnswer> {
    const spans = AttemptSpans.start(serverId, mode, batch);
    if (spans === null) return this.#run(serverId, mode, batch, null);
    const answer = await inBatchSpan(`${mode} commands`, spans.members, () => this.#run(serverId, mode, batch, spans));
    spans.end();
    return answer;
  }

  async #run(
    serverId: string,
    mode: BatchMode,
    batch: readonly Entry[],
    spans: AttemptSpans | null,
  ): Promise<ServerAnswer> {
    const attempt = { ended: false };
    const timer =
      mode === "execute" ? setTimeout(() => void this.#showLeased(batch, attempt), LEASED_EVENT_AFTER_MS) : null;
    if (mode === "execute") for (const entry of batch) entry.attempts += 1;
    let verdicts: Verdict<Effect>[];
    let answer: ServerAnswer = "unused";
    try {
      const outcomes = await this.#ask(serverId, mode, batch);
      answer = answerOf(mode, outcomes);
      verdicts = batch.map((entry, index) => this.#judge.outcome(entry, outcomes[index], mode));
    } catch (error) {
      if (this.#options.executor.isUnreachable(error)) answer = "unreachable";
      verdicts = batch.map((entry) => this.#judge.failure(entry, error, mode));
    }
    attempt.ended = true;
    spans?.conclude(verdicts);
    if (timer !== null) clearTimeout(timer);
    await this.#settleVerdicts(verdicts.filter(({ entry }) => !entry.gone));
    return answer;
  }

  async #ask(serverId: string, mode: BatchMode, batch: readonly Entry[]): Promise<readonly CommandOutcome<Effect>[]> {
    if (mode === "expire") return batch.map(() => ({ kind: "closed" }));
    const { executor, worker } = this.#options;
    if (mode === "execute") faultPoint(`${worker}.before-execute`);
    const outcomes =
      mode === "execute"
        ? await executor.execute(serverId, batch.map(leasedCommandOf))
        : await executor.settle(
            serverId,
            batch.map(({ message }) => ({ message })),
          );
    if (mode === "execute") faultPoint(`${worker}.after-execute`);
    assert(outcomes.length === batch.length, "an executor answers one outcome for each command");
    return outcomes;
  }

  async #settleVerdicts(verdicts: readonly Verdict<Effect>[]): Promise<void> {
    const written = verdicts.filter((verdict) => verdict.kind === "final" || verdict.requeue);
    let putBack: ReadonlySet<Entry> = new Set();
    try {
      if (written.length > 0) putBack = await this.#write(written);
    } catch (error) {
      this.#options.logger.error(
        { err: error, commands: written.length },
        "verdicts could not be written; again later",
      );
      for (const verdict of written) {
        if (!isTransient(error)) verdict.entry.broken += 1;
        this.#options.onAgain(verdict.entry, this.#judge.pauseMs(verdict.entry));
      }
      return this.#proceed(verdicts.filter((verdict) => !written.includes(verdict)));
    }
    for (const entry of putBack) if (!entry.gone) this.#options.onAgain(entry, 0);
    this.#proceed(verdicts.filter(({ entry }) => !putBack.has(entry)));
  }

  #proceed(verdicts: readonly Verdict<Effect>[]): void {
    for (const verdict of verdicts) {
      if (verdict.entry.gone) continue;
      if (verdict.kind === "pending") {
        this.#options.onAgain(verdict.entry, PENDING_TIMEOUT_MS);
        this.#endWatch.add(verdict.entry);
      } else if (verdict.kind === "again") this.#options.onAgain(verdict.entry, verdict.delayMs);
      else this.#options.onEnd(verdict.entry);
    }
  }

  /**
   * One transaction: fence, what is open, effects of the service, new states, events. Returns the
   * commands that went back to the queue instead of ending: only a queued command expires, and one
   * may still be leased where an earlier write failed.
   */
  async #write(verdicts: readonly Verdict<Effect>[]): Promise<ReadonlySet<Entry>> {
    let putBack: ReadonlySet<Entry> = new Set();
    await this.#underFence(
      verdicts.map(({ entry }) => entry),
      async (unit, open) => {
        const locked = verdicts.filter(({ entry }) => open.has(entry));
        const finals = locked.filter((verdict) => verdict.kind === "final");
        putBack = new Set(finals.filter((verdict) => !mayEnd(verdict, open)).map(({ entry }) => entry));
        const ending = finals.filter(({ entry }) => !putBack.has(entry));
        const applied = ending.map(({ entry, outcome }) => ({ message: entry.message, outcome }));
        const results = ending.length === 0 ? null : await this.#options.executor.apply(unit, applied);
        unit.change(locked.flatMap((verdict) => changeOf(verdict, open, results, putBack)));
      },
    );
    return putBack;
  }

  /** Shows an attempt that lasts. Best effort: the attempt goes on whatever becomes of this. */
  async #showLeased(batch: readonly Entry[], attempt: { readonly ended: boolean }): Promise<void> {
    try {
      await this.#underFence(batch, async (unit, open) => {
        // The end of the attempt was faster and has told its own state; where it comes meanwhile,
        // one of us does its work again.
        if (attempt.ended) return;
        const queued = [...open].filter(([, command]) => command.status === "queued");
        unit.change(queued.map(([entry, command]) => moveTo("leased", entry, command)));
      });
    } catch (error) {
      this.#options.logger.warn({ err: error }, "commands could not be shown as leased");
    }
  }

  /** Runs `work` with those commands whose fence holds and that are not final. */
  async #underFence(
    entries: readonly Entry[],
    work: (unit: Unit, open: ReadonlyMap<Entry, OpenCommand>) => Promise<void>,
  ): Promise<void> {
    const leases = new Map<number, Lease>();
    for (const { partition, gone } of entries) {
      if (partition.lease !== null && !gone) leases.set(partition.partition, partition.lease);
    }
    if (leases.size === 0) return;
    const { lost, final } = await this.#options.store.transact(async (unit) => {
      const ids = entries.flatMap(({ message, gone }) => (gone ? [] : [message.commandId]));
      const [held, rows] = await Promise.all([
        this.#options.leases.check(unit, [...leases.values()]),
        unit.query(READ_OPEN, [column(ids)]),
      ]);
      const mine = new Map(
        entries
          .filter(({ partition, gone }) => !gone && held.has(partition.partition))
          .map((entry) => [entry.message.commandId, entry]),
      );
      const open = new Map<Entry, OpenCommand>();
      for (const { command_id: commandId, status, version, attempts } of rows) {
        const entry = mine.get(commandId);
        if (entry !== undefined) open.set(entry, { message: entry.message, status, version, attempts });
      }
      await work(unit, open);
      return {
        lost: [...leases.values()].filter(({ partition }) => !held.has(partition)),
        final: [...mine.values()].filter((entry) => !open.has(entry)),
      };
    });
    for (const lease of lost) this.#options.onLost(lease);
    // Made final by another path while they were under way.
    for (const entry of final) this.#options.onEnd(entry);
  }
}

function leasedCommandOf({ message, attempts }: Entry): LeasedCommand {
  assert(!isMarked(message), "a message that cannot be read is never carried out");
  return { message, attempt: attempts };
}

function answerOf(mode: BatchMode, outcomes: readonly { readonly kind: string }[]): ServerAnswer {
  if (mode === "expire") return "unused";
  if (outcomes.some(({ kind }) => kind === "unreachable")) return "unreachable";
  return outcomes.every(({ kind }) => kind === "refuse" || kind === "retry") ? "unused" : "answered";
}

function changeOf<Effect>(
  verdict: Verdict<Effect>,
  open: ReadonlyMap<Entry, OpenCommand>,
  results: ReadonlyMap<string, Record<string, unknown>> | null,
  putBack: ReadonlySet<Entry>,
): StateChange[] {
  const { entry } = verdict;
  const command = open.get(entry);
  if (command === undefined || verdict.kind === "ended" || verdict.kind === "pending") return [];
  if (verdict.kind === "again" || putBack.has(entry)) return [moveTo("queued", entry, command)];
  return [finalChange(verdict, command, results?.get(entry.message.commandId))];
}

/** Whether the state in which the command was read may become the final one. */
function mayEnd<Effect>({ entry, outcome }: FinalVerdict<Effect>, open: ReadonlyMap<Entry, OpenCommand>): boolean {
  const command = open.get(entry);
  return command !== undefined && mayMove(command.status, outcome.kind === "closed" ? outcome.status : outcome.kind);
}

function moveTo(status: "queued" | "leased", entry: Entry, command: OpenCommand): StateChange {
  return { command, status, attempts: entry.attempts, result: null, errorCode: null, errorMessage: null };
}

function finalChange<Effect>(
  verdict: FinalVerdict<Effect>,
  command: OpenCommand,
  result: Record<string, unknown> | undefined,
): StateChange {
  const { attempts } = verdict.entry;
  const { outcome } = verdict;
  switch (outcome.kind) {
    case "succeeded":
      return {
        command,
        status: "succeeded",
        attempts,
        result: result ?? outcome.result,
        errorCode: null,
        errorMessage: null,
      };
    case "failed": {
      const { errorCode, errorMessage } = outcome;
      return { command, status: "failed", attempts, result: null, errorCode, errorMessage };
    }
    case "closed": {
      const { status, errorCode, errorMessage } = outcome;
      return { command, status, attempts, result: null, errorCode, errorMessage };
    }
  }
}
