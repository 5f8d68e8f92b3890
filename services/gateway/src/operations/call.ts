import type { Readable } from "node:stream";

import type { KeyEntry, OperationContract, OperationId, ServerEntry } from "@kapi/contracts";
import type { Caller } from "@kapi/http";

import type { RequestCharge } from "./request-charge.ts";

/** What tells whether the caller is still there. */
export interface CallerConnection {
  /** Whether it is closed: the caller left, or has the answer. */
  readonly destroyed: boolean;
  once(event: "close", listener: () => void): unknown;
}

/** One request of a caller who is known and may use the operation (401 and 403 are behind it). */
export interface Call {
  readonly operation: OperationId;
  readonly contract: OperationContract;
  readonly key: KeyEntry;
  /**
   * The server that the path names; undefined where it names none, or what is no id. May be a
   * removed one.
   */
  readonly server: ServerEntry | undefined;
  /** `X-Request-Id`. */
  readonly requestId: string;
  /** The network address that it came from; null where the connection is gone. */
  readonly address: string | null;
  /** What the request is charged; each operation charges by itself, in the order of checks. */
  readonly charge: RequestCharge;
  /** As they stand in the path, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly idempotencyKey: string | undefined;
  /** The answer's connection. */
  readonly connection: CallerConnection;
  /** The JSON value; undefined where there is none, an ApiError where it cannot be read. */
  readonly body: unknown;
}

/** What an operation answers; errors are thrown. */
export interface Answer {
  readonly status: 200 | 201 | 202;
  /** JSON, passed on as it is. */
  readonly body: string | Buffer | Readable;
  /** The answer repeats that of an earlier request with the same key. */
  readonly replayed?: boolean;
}

/** Who asks, as other services record it. */
export function callerOf({ key, address }: Pick<Call, "key" | "address">): Caller {
  return { actor: { type: "key", id: key.keyId }, address };
}

/**
 * Aborted once the caller's connection is closed. Made only for what outlasts an ordinary request.
 */
export function goneSignal({ connection }: Pick<Call, "connection">): AbortSignal {
  const gone = new AbortController();
  connection.once("close", () => gone.abort());
  if (connection.destroyed) gone.abort();
  return gone.signal;
}

/** One operation of the interface. Charges by itself, in the order of checks (decisions, 1.1). */
export type Operation = (call: Call) => Promise<Answer>;

/** Operations by their names in the contract. */
export type OperationTable<Ids extends OperationId> = Readonly<Record<Ids, Operation>>;
