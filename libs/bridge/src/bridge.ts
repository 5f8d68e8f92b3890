import type { Quote } from "@kapi/contracts";
import { assert, assertDefined } from "@kapi/kernel";
import { ATTRIBUTE, isTracing, type Span, startSpan } from "@kapi/runtime";
import { type AccountSnapshot, Change, type ServerConfiguration } from "@kapi/trading-server";

import {
  type AccountHistory,
  type ContractOperations,
  notConfigured,
  type SubmittedChange,
} from "./contract-operations.ts";
import type { Committer, PlatformAccount, PlatformServer } from "./journal/committer.ts";
import {
  appliedOutcome,
  closedOutcome,
  incompleteOutcome,
  refusedOutcome,
  unchangedOutcome,
} from "./journal/outcomes.ts";
import type { Journal } from "./journal/ports.ts";
import { References } from "./journal/references.ts";
import type { ChangeResult, Rejection, TradingPlatform } from "./platform.ts";

/**
 * The platform, and where its outcomes are stored: `committer` writes the journal, and `journal`
 * reads it.
 */
interface BridgeOptions<A extends PlatformAccount, S extends PlatformServer> {
  readonly platform: TradingPlatform;
  readonly committer: Committer<A, S>;
  readonly journal: Pick<Journal, "outcomesOf" | "history">;
}

/** A reference with the result of its change, and the account if known. */
interface Decision {
  readonly reference: string;
  readonly accountNumber: string | null;
  readonly result: ChangeResult;
}

/**
 * Keeps the guarantees of the contract for a platform. The first outcome of a reference, other than
 * `incomplete`, is final. Answers except quotes show only stored state.
 */
export class Bridge<A extends PlatformAccount, S extends PlatformServer> implements ContractOperations {
  readonly #platform: TradingPlatform;
  readonly #committer: Committer<A, S>;
  readonly #journal: Pick<Journal, "history">;
  readonly #references: References;

  constructor({ platform, committer, journal }: BridgeOptions<A, S>) {
    this.#platform = platform;
    this.#committer = committer;
    this.#journal = journal;
    this.#references = new References(journal);
  }

  /** Adds a server, or replaces its configuration. */
  async configure(serverId: string, configuration: ServerConfiguration): Promise<void> {
    await this.#platform.configure(serverId.toLowerCase(), configuration);
    await this.#committer.stored();
  }

  /**
   * Applies the changes whose references have no final outcome yet. Returns one outcome for each
   * change, in order.
   */
  async change(serverId: string, changes: readonly SubmittedChange[]): Promise<readonly string[]> {
    const server = this.#configured(serverId);
    this.#committer.rejectWhenFull();
    const references = changes.map(({ body }) => body.reference);
    const spans = startSpans(server, changes);
    try {
      const outcomes = await this.#decide(server, references, async (known) => {
        const { decisions, fresh } = splitChanges(changes, known, spans);
        const results = fresh.length === 0 ? [] : await this.#platform.apply(server, fresh);
        for (const [index, result] of results.entries()) {
          const { reference, accountNumber } = assertDefined(fresh[index], `the change of result ${index}`);
          decisions.push({ reference, accountNumber, result });
        }
        return decisions;
      });
      await this.#committer.stored();
      return outcomes;
    } finally {
      for (const span of spans?.values() ?? []) span.end();
    }
  }

  /**
   * Closes references without an outcome, unless the platform finds the result of the change. The
   * change of a closed reference can never apply afterwards.
   */
  async settle(serverId: string, references: readonly string[]): Promise<readonly string[]> {
    const server = this.#configured(serverId);
    this.#committer.rejectWhenFull();
    const outcomes = await this.#decide(server, references, async (known) => {
      const open = [...new Set(references)].filter((reference) => !known.has(reference));
      const found = open.map(async (reference) => {
        const result = await this.#platform.findApplied(server, reference);
        return result === null ? { reference } : { reference, accountNumber: null, result };
      });
      return Promise.all(found);
    });
    await this.#committer.stored();
    return outcomes;
  }

  async snapshot(serverId: string, accountNumber: string): Promise<AccountSnapshot | null> {
    const snapshot = await this.#platform.snapshot(this.#configured(serverId), accountNumber);
    await this.#committer.stored();
    return snapshot;
  }

  async lastSequence(serverId: string, accountNumber: string): Promise<number | null> {
    const sequence = await this.#platform.lastSequence(this.#configured(serverId), accountNumber);
    await this.#committer.stored();
    return sequence;
  }

  async history(serverId: string, accountNumber: string, since: number, limit: number): Promise<AccountHistory | null> {
    const lastSequence = await this.lastSequence(serverId, accountNumber);
    if (lastSequence === null) return null;
    const events = await this.#journal.history(serverId.toLowerCase(), accountNumber, since, limit);
    return { events, lastSequence };
  }

  async quotes(serverId: string, symbols: readonly string[], atMs: number): Promise<readonly Quote[] | null> {
    const server = this.#configured(serverId);
    return (await this.#platform.quotes?.(server, symbols, atMs)) ?? null;
  }

  /** Returns the id in lower case; throws an ApiError 503 for an unconfigured server. */
  #configured(serverId: string): string {
    const id = serverId.toLowerCase();
    if (this.#platform.isConfigured(id)) return id;
    throw notConfigured(serverId);
  }

  /**
   * Returns outcomes in the order of `references`. `decide` gets the known outcomes and decides the
   * other references; a decision without a result closes its reference.
   */
  async #decide(
    serverId: string,
    references: readonly string[],
    decide: (known: ReadonlyMap<string, string>) => Promise<readonly (Decision | { readonly reference: string })[]>,
  ): Promise<string[]> {
    const held = await this.#references.hold(serverId, references);
    try {
      const outcomes = new Map(held.outcomes);
      for (const decision of await decide(held.outcomes)) {
        const { reference } = decision;
        if ("result" in decision && decision.result.applied === "incomplete") {
          outcomes.set(reference, incompleteOutcome(reference, decision.result.message));
          continue;
        }
        const outcome = "result" in decision ? this.#record(serverId, decision) : this.#close(serverId, reference);
        outcomes.set(reference, outcome);
        this.#references.remember(serverId, reference, outcome);
      }
      return references.map((reference) => {
        return assertDefined(outcomes.get(reference), `the platform's result for reference ${reference}`);
      });
    } catch (error) {
      // Events recorded before the error are final: the next request reads them from the journal.
      await this.#committer.stored();
      throw error;
    } finally {
      held.release();
    }
  }

  /**
   * Returns the outcome of a result. Records only an outcome without an event: the platform has
   * recorded the events.
   */
  #record(serverId: string, { reference, accountNumber, result }: Decision): string {
    assert(result.applied !== "incomplete", `the result to record for ${reference} is incomplete`);
    if (result.applied && result.event !== null) return appliedOutcome(reference, result.event);
    const outcome = result.applied ? unchangedOutcome(reference) : refusedOutcome(reference, result);
    this.#committer.recordOutcome(serverId, accountNumber, reference, outcome);
    return outcome;
  }

  #close(serverId: string, reference: string): string {
    const outcome = closedOutcome(reference);
    this.#committer.recordOutcome(serverId, null, reference, outcome);
    return outcome;
  }
}

/**
 * Splits changes into `fresh` ones, which the platform decides, and `decisions`: rejections of
 * changes that are invalid or were rejected beforehand. Changes with a known outcome, and repeated
 * references, are in neither.
 */
function splitChanges(
  changes: readonly SubmittedChange[],
  known: ReadonlyMap<string, string>,
  spans: ReadonlyMap<string, Span> | null,
): { decisions: Decision[]; fresh: Change[] } {
  const decisions: Decision[] = [];
  const fresh: Change[] = [];
  const seen = new Set<string>();
  for (const { body, rejection } of changes) {
    const { reference } = body;
    if (known.has(reference) || seen.has(reference)) continue;
    seen.add(reference);
    const change = Change.safeParse(body);
    if (!change.success) {
      decisions.push({ reference, accountNumber: null, result: invalid(change.error.issues[0]) });
    } else if (rejection !== undefined) {
      decisions.push({ reference, accountNumber: change.data.accountNumber, result: rejection });
    } else {
      fresh.push({ ...change.data, traceparent: spans?.get(reference)?.traceparent });
    }
  }
  return { decisions, fresh };
}

function invalid(issue: { readonly path: PropertyKey[]; readonly message: string } | undefined): Rejection {
  const message = `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "the change is invalid"}`;
  return { applied: false, code: "INVALID_CHANGE", message };
}

/** Spans of traced changes by reference; null: nothing is traced. */
function startSpans(serverId: string, changes: readonly SubmittedChange[]): Map<string, Span> | null {
  if (!isTracing()) return null;
  const spans = new Map<string, Span>();
  for (const { body } of changes) {
    const { reference, traceparent, type } = body;
    if (typeof traceparent !== "string" || typeof type !== "string") continue;
    const attributes = {
      [ATTRIBUTE.tradingServer]: serverId,
      [ATTRIBUTE.commandId]: reference,
      [ATTRIBUTE.batchSize]: changes.length,
    };
    const span = startSpan(`change ${type}`, { role: "internal", parent: traceparent, attributes });
    if (span !== null) spans.set(reference, span);
  }
  return spans;
}
