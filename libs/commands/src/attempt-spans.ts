/**
 * A span for each attempt at a command that belongs to a trace, beneath the one that took the
 * command up.
 */
import { ATTRIBUTE, isTracing, type Span, startSpan } from "@kapi/runtime";

import type { Entry } from "./entry.ts";
import type { BatchMode } from "./scheduler.ts";
import type { Verdict } from "./verdict.ts";

export class AttemptSpans {
  /** The attempts of the batch by name; undefined where a command belongs to no trace. */
  readonly members: readonly (string | undefined)[];
  readonly #spans: ReadonlyMap<Entry, Span>;

  private constructor(batch: readonly Entry[], spans: ReadonlyMap<Entry, Span>) {
    this.members = batch.map((entry) => spans.get(entry)?.traceparent);
    this.#spans = spans;
  }

  /**
   * Begins the spans of a batch, and names each to its command: the change that it asks for, its
   * booking and its events stand beneath it. Null where nothing is traced.
   */
  static start(serverId: string, mode: BatchMode, batch: readonly Entry[]): AttemptSpans | null {
    if (!isTracing()) return null;
    const spans = new Map<Entry, Span>();
    for (const entry of batch) {
      if (entry.traceparent === undefined) continue;
      const { commandId, operation } = entry.message;
      const attributes = {
        [ATTRIBUTE.commandId]: commandId,
        [ATTRIBUTE.commandAttempt]: entry.attempts + (mode === "execute" ? 1 : 0),
        [ATTRIBUTE.tradingServer]: serverId,
        [ATTRIBUTE.batchSize]: batch.length,
      };
      const span = startSpan(`${mode} ${operation}`, { role: "internal", parent: entry.traceparent, attributes });
      if (span === null) continue;
      spans.set(entry, span);
      entry.message = { ...entry.message, traceparent: span.traceparent };
    }
    return new AttemptSpans(batch, spans);
  }

  /** Notes what the attempts came to. */
  conclude(verdicts: readonly Verdict<unknown>[]): void {
    for (const verdict of verdicts) {
      const outcome = verdict.kind === "final" ? verdict.outcome.kind : verdict.kind;
      this.#spans.get(verdict.entry)?.set({ [ATTRIBUTE.commandOutcome]: outcome });
    }
  }

  /** What the batch came to is written. */
  end(): void {
    for (const span of this.#spans.values()) span.end();
  }
}
