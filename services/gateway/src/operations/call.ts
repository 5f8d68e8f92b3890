import type { Readable } from "node:stream";

import { type BilledCaller, keyCaller } from "@kapi/admission";
import type { KeyEntry, OperationContract, OperationId, ServerEntry } from "@kapi/contracts";
import type { Caller } from "@kapi/http";

import type { RequestCharge } from "./request-charge.ts";

/** The HTTP response of a call: its end shows that no one waits for the call any more. */
export interface CallerConnection {
  /** Whether the response is closed: the caller disconnected, or has received it. */
  readonly destroyed: boolean;
  once(event: "close", listener: () => void): unknown;
}

/** Who calls an operation, and with which rights: a management key, or a person of the console. */
export interface OperationCaller extends BilledCaller {
  readonly scopes: KeyEntry["scopes"];
  /** The servers that the caller reaches; null: all servers of the organization. */
  readonly serverIds: KeyEntry["serverIds"];
}

/**
 * Callers by the `KeyEntry` of their key. Each `KeyEntry` has one caller object, because
 * RequestCharge remembers callers by their identity. A changed key is a new `KeyEntry`.
 */
const callers = new WeakMap<KeyEntry, OperationCaller>();

/** A management key as a caller: the same object for every request, until the key changes. */
export function operationCaller(key: KeyEntry): OperationCaller {
  let caller = callers.get(key);
  if (caller === undefined) {
    caller = { ...keyCaller(key), scopes: key.scopes, serverIds: key.serverIds };
    callers.set(key, caller);
  }
  return caller;
}

/**
 * One request of a key or a person. The caller has been authenticated, and has the scope of the
 * operation and access to the server.
 */
export interface Call {
  readonly operation: OperationId;
  readonly contract: OperationContract;
  readonly caller: OperationCaller;
  /**
   * The server of the path. Its status can be `removed`. Undefined if the path has no server, or a
   * malformed id.
   */
  readonly server: ServerEntry | undefined;
  /** `X-Request-Id`. */
  readonly requestId: string;
  /** The network address of the caller; null if the connection is closed. */
  readonly address: string | null;
  /** The charge of the request. Each operation charges at its place in the order of checks. */
  readonly charge: RequestCharge;
  /** Path parameters, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly idempotencyKey: string | undefined;
  /** Closes when the caller disconnects, or has received the response. */
  readonly connection: CallerConnection;
  /** The JSON value; undefined if the body is empty, an ApiError if it was not accepted as JSON. */
  readonly body: unknown;
}

/** The result of an operation; errors are thrown. */
export interface Answer {
  readonly status: 200 | 201 | 202;
  /** JSON, sent unchanged. */
  readonly body: string | Buffer | Readable;
  /** Whether the request repeats an accepted request; of a bulk, whether every item does. */
  readonly replayed?: boolean;
  /** The command that the request queued, or that an equal request queued before. */
  readonly commandId?: string;
}

/** The caller, in the form that other services record. */
export function callerOf({ caller, address }: Pick<Call, "caller" | "address">): Caller {
  return { actor: caller.actor, address };
}

/**
 * A signal that is aborted when the caller disconnects. Only for waits: it costs a listener per
 * request.
 */
export function disconnectSignal({ connection }: Pick<Call, "connection">): AbortSignal {
  const controller = new AbortController();
  connection.once("close", () => controller.abort());
  if (connection.destroyed) controller.abort();
  return controller.signal;
}

/**
 * One operation of the interface. It charges the request in the order of checks (decisions, 1.1).
 */
export type Operation = (call: Call) => Promise<Answer>;

/** Operations by their ids in the contract. */
export type OperationTable<Ids extends OperationId> = Readonly<Record<Ids, Operation>>;
