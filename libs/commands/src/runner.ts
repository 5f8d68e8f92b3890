/**
 * Runs batches: calls the executor, resolves its outcomes, and writes them under the lease of the
 * partition. A command becomes final here, or when another part of the service books its event or
 * activates its risk rules.
 */
import { assert, type Clock } from "@kapi/kernel";
import { isTransient } from "@kapi/postgres";
import { faultPoint, inBatchSpan, type Logger } from "@kapi/runtime";

import { column } from "./columns.ts";
import { mayMove } from "./command-state.ts";
import { FinalStatePoller } from "./final-state-poller.ts";
import { isUnreadable } from "./decode.ts";
import type { Entry } from "./entry.ts";
import type { CommandExecutor, CommandOutcome, LeasedCommand } from "./executor.ts";
import type { Lease, PartitionLeases } from "./partition-leases.ts";
import { LEASED_EVENT_AFTER_MS, PENDING_TIMEOUT_MS } from "./limits.ts";
import type { BatchMode, ServerAnswer } from "./scheduler.ts";
import { AttemptSpans } from "./attempt-spans.ts";
import { READ_OPEN } from "./statements.ts";
import type { CommandStore } from "./store.ts";
import type { StateChange, Unit } from "./unit.ts";
import type { OpenCommand } from "./work.ts";
import { type FinalResolution, OutcomeResolver, type Resolution } from "./outcome-resolver.ts";

/**
 * The dependencies of a runner, and the functions through which the worker learns what became of a
 * batch.
 */
interface RunnerOptions<Effect> {
  /** Name of the service; prefix of the fault points. */
  readonly worker: string;
  readonly store: CommandStore;
  readonly leases: PartitionLeases;
  readonly executor: CommandExecutor<Effect>;
  readonly clock: Clock;
  /** Between 0 and 1; for the jitter of retries. */
  readonly random: () => number;
  readonly logger: Logger;
  /** The command is final. */
  readonly onFinal: (entry: Entry) => void;
  /** The command is retried after `delayMs`, unless it becomes final by another path. */
  readonly onRetry: (entry: Entry, delayMs: number) => void;
  /** Another process holds the lease of the partition, or the lease has expired. */
  readonly onLeaseLost: (lease: Lease) => void;
}

/** Runs batches of commands, and writes their outcomes. */
export class Runner<Effect> {
  readonly #options: RunnerOptions<Effect>;
  readonly #resolver: OutcomeResolver<Effect>;
  readonly #finalStatePoller: FinalStatePoller;

  constructor(options: RunnerOptions<Effect>) {
    this.#options = options;
    this.#resolver = new OutcomeResolver(options);
    this.#finalStatePoller = new FinalStatePoller({
      database: options.store.database,
      onFinal: options.onFinal,
      onError: (error) => options.logger.warn({ err: error }, "pending commands could not be polled"),
    });
  }

  stop(): void {
    this.#finalStatePoller.stop();
  }

  /** Runs one batch of one server and writes its outcomes. Never rejects. */
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
    let resolutions: Resolution<Effect>[];
    let answer: ServerAnswer = "unused";
    try {
      const outcomes = await this.#callExecutor(serverId, mode, batch);
      answer = answerOf(mode, outcomes);
      resolutions = batch.map((entry, index) => this.#resolver.resolve(entry, outcomes[index], mode));
    } catch (error) {
      if (this.#options.executor.isUnreachable(error)) answer = "unreachable";
      resolutions = batch.map((entry) => this.#resolver.resolveFailure(entry, error, mode));
    }
    attempt.ended = true;
    spans?.recordOutcomes(resolutions);
    if (timer !== null) clearTimeout(timer);
    await this.#writeResolutions(resolutions.filter(({ entry }) => !entry.dropped));
    return answer;
  }

  async #callExecutor(
    serverId: string,
    mode: BatchMode,
    batch: readonly Entry[],
  ): Promise<readonly CommandOutcome<Effect>[]> {
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
    assert(outcomes.length === batch.length, "the number of outcomes differs from the number of commands");
    return outcomes;
  }

  async #writeResolutions(resolutions: readonly Resolution<Effect>[]): Promise<void> {
    const written = resolutions.filter((resolution) => resolution.kind === "final" || resolution.requeue);
    let requeued: ReadonlySet<Entry> = new Set();
    try {
      if (written.length > 0) requeued = await this.#write(written);
    } catch (error) {
      this.#options.logger.error(
        { err: error, commands: written.length },
        "the outcomes of commands could not be written; retrying",
      );
      for (const resolution of written) {
        if (!isTransient(error)) resolution.entry.unexpectedErrors += 1;
        this.#options.onRetry(resolution.entry, this.#resolver.pauseMs(resolution.entry));
      }
      return this.#proceed(resolutions.filter((resolution) => !written.includes(resolution)));
    }
    for (const entry of requeued) if (!entry.dropped) this.#options.onRetry(entry, 0);
    this.#proceed(resolutions.filter(({ entry }) => !requeued.has(entry)));
  }

  #proceed(resolutions: readonly Resolution<Effect>[]): void {
    for (const resolution of resolutions) {
      if (resolution.entry.dropped) continue;
      if (resolution.kind === "pending") {
        this.#options.onRetry(resolution.entry, PENDING_TIMEOUT_MS);
        this.#finalStatePoller.add(resolution.entry);
      } else if (resolution.kind === "again") this.#options.onRetry(resolution.entry, resolution.delayMs);
      else this.#options.onFinal(resolution.entry);
    }
  }

  /**
   * One transaction: leases, open commands, effects of the service, new states, events. Returns the
   * commands that should expire but were requeued instead: only a queued command can expire, and
   * these were still leased, because an earlier write of their state `queued` failed.
   */
  async #write(resolutions: readonly Resolution<Effect>[]): Promise<ReadonlySet<Entry>> {
    let requeued: ReadonlySet<Entry> = new Set();
    await this.#withLeases(
      resolutions.map(({ entry }) => entry),
      async (unit, open) => {
        const locked = resolutions.filter(({ entry }) => open.has(entry));
        const finals = locked.filter((resolution) => resolution.kind === "final");
        requeued = new Set(finals.filter((resolution) => !mayBecomeFinal(resolution, open)).map(({ entry }) => entry));
        const finishing = finals.filter(({ entry }) => !requeued.has(entry));
        const applied = finishing.map(({ entry, outcome }) => ({ message: entry.message, outcome }));
        const results = finishing.length === 0 ? null : await this.#options.executor.apply(unit, applied);
        unit.change(locked.flatMap((resolution) => changeOf(resolution, open, results, requeued)));
      },
    );
    return requeued;
  }

  /** Sets long-running commands to `leased`. Best effort: the attempt does not depend on it. */
  async #showLeased(batch: readonly Entry[], attempt: { readonly ended: boolean }): Promise<void> {
    try {
      await this.#withLeases(batch, async (unit, open) => {
        // An attempt that has ended writes its own state. If it ends after this check, the versions
        // conflict and one of the two transactions is retried.
        if (attempt.ended) return;
        const queued = [...open].filter(([, command]) => command.status === "queued");
        unit.change(queued.map(([entry, command]) => moveTo("leased", entry, command)));
      });
    } catch (error) {
      this.#options.logger.warn({ err: error }, "commands could not be shown as leased");
    }
  }

  /** Runs `work` with the open commands whose partition is still leased by this process. */
  async #withLeases(
    entries: readonly Entry[],
    work: (unit: Unit, open: ReadonlyMap<Entry, OpenCommand>) => Promise<void>,
  ): Promise<void> {
    const leases = new Map<number, Lease>();
    for (const { partition, dropped } of entries) {
      if (partition.lease !== null && !dropped) leases.set(partition.partition, partition.lease);
    }
    if (leases.size === 0) return;
    const { lost, final } = await this.#options.store.transact(async (unit) => {
      const ids = entries.flatMap(({ message, dropped }) => (dropped ? [] : [message.commandId]));
      const [held, rows] = await Promise.all([
        this.#options.leases.lockHeld(unit, [...leases.values()]),
        unit.query(READ_OPEN, [column(ids)]),
      ]);
      const mine = new Map(
        entries
          .filter(({ partition, dropped }) => !dropped && held.has(partition.partition))
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
    for (const lease of lost) this.#options.onLeaseLost(lease);
    // Another path made these final during the attempt.
    for (const entry of final) this.#options.onFinal(entry);
  }
}

function leasedCommandOf({ message, attempts }: Entry): LeasedCommand {
  assert(!isUnreadable(message), "the message of a command to carry out is unreadable");
  return { message, attempt: attempts };
}

function answerOf(mode: BatchMode, outcomes: readonly { readonly kind: string }[]): ServerAnswer {
  if (mode === "expire") return "unused";
  if (outcomes.some(({ kind }) => kind === "unreachable")) return "unreachable";
  return outcomes.every(({ kind }) => kind === "refuse" || kind === "retry") ? "unused" : "answered";
}

function changeOf<Effect>(
  resolution: Resolution<Effect>,
  open: ReadonlyMap<Entry, OpenCommand>,
  results: ReadonlyMap<string, Record<string, unknown>> | null,
  requeued: ReadonlySet<Entry>,
): StateChange[] {
  const { entry } = resolution;
  const command = open.get(entry);
  if (command === undefined || resolution.kind === "ended" || resolution.kind === "pending") return [];
  if (resolution.kind === "again" || requeued.has(entry)) return [moveTo("queued", entry, command)];
  return [finalChange(resolution, command, results?.get(entry.message.commandId))];
}

/** Whether the command's current state allows this final state. */
function mayBecomeFinal<Effect>(
  { entry, outcome }: FinalResolution<Effect>,
  open: ReadonlyMap<Entry, OpenCommand>,
): boolean {
  const command = open.get(entry);
  return command !== undefined && mayMove(command.status, outcome.kind === "closed" ? outcome.status : outcome.kind);
}

function moveTo(status: "queued" | "leased", entry: Entry, command: OpenCommand): StateChange {
  return { command, status, attempts: entry.attempts, result: null, errorCode: null, errorMessage: null };
}

function finalChange<Effect>(
  resolution: FinalResolution<Effect>,
  command: OpenCommand,
  result: Record<string, unknown> | undefined,
): StateChange {
  const { attempts } = resolution.entry;
  const { outcome } = resolution;
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
