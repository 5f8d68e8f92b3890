import { ApiError } from "@kapi/http";
import type { AccountSnapshot, ServerConfiguration } from "@kapi/trading-server";

import type { Rejection } from "./platform.ts";

/** A change as it came: only its reference is known to be good. */
export type ChangeBody = { readonly reference: string } & Readonly<Record<string, unknown>>;

/** A change that is asked for. */
export interface SubmittedChange {
  readonly body: ChangeBody;
  /** Refuses the change before the platform sees it. */
  readonly rejection?: Rejection;
}

/**
 * The events of an account (JSON text) above a sequence, and the sequence of its last event then.
 */
export interface AccountHistory {
  readonly events: readonly string[];
  readonly lastSequence: number;
}

/**
 * What the routes of the contract call: a {@link Bridge}, or what stands before one. Outcomes and
 * events are JSON text, exactly as they are stored and published. What is given is durable. Each
 * throws an ApiError 503 for a server that is not configured.
 */
export interface ContractOperations {
  configure(serverId: string, configuration: ServerConfiguration): Promise<void>;
  /** One outcome each, in order. */
  change(serverId: string, changes: readonly SubmittedChange[]): Promise<readonly string[]>;
  /** One outcome each, in order. */
  settle(serverId: string, references: readonly string[]): Promise<readonly string[]>;
  /** Null where there is no account or it was deleted. */
  snapshot(serverId: string, accountNumber: string): Promise<AccountSnapshot | null>;
  /** Null where there never was an account. */
  lastSequence(serverId: string, accountNumber: string): Promise<number | null>;
  /** At most `limit` events; null where there never was an account. */
  history(serverId: string, accountNumber: string, since: number, limit: number): Promise<AccountHistory | null>;
}

/** 503: kapi tells the server its configuration first, and asks again. */
export function notConfigured(serverId: string): ApiError {
  return new ApiError("DEPENDENCY_UNAVAILABLE", { status: 503, text: `server ${serverId} is not configured` });
}
