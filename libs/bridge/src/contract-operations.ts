import type { Quote } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import type { AccountSnapshot, ServerConfiguration } from "@kapi/trading-server";

import type { Rejection } from "./platform.ts";

/** A received change: only its reference is validated. */
export type ChangeBody = { readonly reference: string } & Readonly<Record<string, unknown>>;

/**
 * One change of a request. A change whose reference already has an outcome gets that outcome, even
 * if `body` is invalid or `rejection` is set.
 */
export interface SubmittedChange {
  /** Validated by the bridge, if the reference has no outcome yet. */
  readonly body: ChangeBody;
  /** Rejects the change before the platform sees it. */
  readonly rejection?: Rejection;
}

/** Events of an account (JSON text) after a sequence, and the last sequence of the account. */
export interface AccountHistory {
  readonly events: readonly string[];
  /** Read before the events: `events` may have later ones. */
  readonly lastSequence: number;
}

/**
 * What the routes of the contract call: a `Bridge` or a wrapper of one. Outcomes and events are
 * JSON text; the text of an event is exactly as stored and published. Results except quotes show
 * only stored state. Each method but `configure` throws an ApiError 503 for an unconfigured server;
 * `change` and `settle` also throw it while `Committer.isFull` is true.
 */
export interface ContractOperations {
  configure(serverId: string, configuration: ServerConfiguration): Promise<void>;
  /** One outcome for each change, in order. */
  change(serverId: string, changes: readonly SubmittedChange[]): Promise<readonly string[]>;
  /** One outcome for each reference, in order. */
  settle(serverId: string, references: readonly string[]): Promise<readonly string[]>;
  /** Null: unknown or deleted account. */
  snapshot(serverId: string, accountNumber: string): Promise<AccountSnapshot | null>;
  /** Null: the account never existed. */
  lastSequence(serverId: string, accountNumber: string): Promise<number | null>;
  /** At most `limit` events; null: the account never existed. */
  history(serverId: string, accountNumber: string, since: number, limit: number): Promise<AccountHistory | null>;
  /**
   * For each symbol the last quote at or before `atMs`. Null: the platform has no quotes.
   */
  quotes(serverId: string, symbols: readonly string[], atMs: number): Promise<readonly Quote[] | null>;
}

/** 503: kapi sends the configuration, then retries. */
export function notConfigured(serverId: string): ApiError {
  return new ApiError("DEPENDENCY_UNAVAILABLE", { status: 503, text: `server ${serverId} is not configured` });
}
