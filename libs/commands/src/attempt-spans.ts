/**
 * One span for each traced command of a batch, also if the batch settles or expires commands. The
 * parent of a span is the span that consumed the command.
 */
import { ATTRIBUTE, isTracing, type Span, startSpan } from "@kapi/runtime";

import type { Entry } from "./entry.ts";
import type { BatchMode } from "./scheduler.ts";
import type { Resolution } from "./outcome-resolver.ts";

/** The spans of one batch. */
export class AttemptSpans {
  /** The `traceparent` of each command's span, in order; undefined for an untraced command. */
  readonly members: readonly (string | undefined)[];
  readonly #spans: ReadonlyMap<Entry, Span>;

  private constructor(batch: readonly Entry[], spans: ReadonlyMap<Entry, Span>) {
    this.members = batch.map((entry) => spans.get(entry)?.traceparent);
    this.#spans = spans;
  }

  /**
   * Starts the spans of a batch and writes each into its command's message, as the parent of the
   * change, its booking and its events. Returns null if tracing is off.
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

  /** Sets the outcome of each command on its span. */
  recordOutcomes(resolutions: readonly Resolution<unknown>[]): void {
    for (const resolution of resolutions) {
      const outcome = resolution.kind === "final" ? resolution.outcome.kind : resolution.kind;
      this.#spans.get(resolution.entry)?.set({ [ATTRIBUTE.commandOutcome]: outcome });
    }
  }

  /** Ends the spans, after the outcomes are written. */
  end(): void {
    for (const span of this.#spans.values()) span.end();
  }
}
