/**
 * HTTP client of the trading-server contract. It never guesses: whatever is not a clear answer
 * becomes {@link TradingServerUnreachable}, and the caller settles the references before it decides
 * anything.
 */
import { createSecureContext, getCACertificates } from "node:tls";

import type { z } from "zod";

import { createInternalClient, DependencyError, type InternalClient, tokenCredentials } from "@kapi/http";
import { assert, monotonicClock } from "@kapi/kernel";
import type { Started } from "@kapi/runtime";

import type { TradingServerAddress } from "./addresses.ts";
import {
  type AccountSnapshot,
  type Change,
  type History,
  HistoryResponse,
  MAX_BATCH_SIZE,
  MAX_HISTORY_LIMIT,
  type Outcome,
  OutcomesResponse,
  SequenceResponse,
  type ServerConfiguration,
  SnapshotResponse,
} from "./contract.ts";
import { ReadBreakers } from "./read-breakers.ts";
import { TradingServerUnreachable } from "./unreachable.ts";

/** Connections to one address, unless told otherwise. */
const DEFAULT_CONNECTIONS = 64;
/**
 * Calls to one address that wait for a connection, of each organization; one more fails at once.
 */
const MAX_WAITING_CALLS_PER_ORGANIZATION = 1_000;

export interface TradingServerClientOptions {
  /** How the server is reached, or undefined where it is not known. */
  readonly addressOf: (serverId: string) => TradingServerAddress | undefined;
  /**
   * PEM: authorities that may have signed the servers' certificates too, beside those that Node
   * knows.
   */
  readonly ca?: string | undefined;
  /** Deadline of one call. */
  readonly timeoutMs: number;
  /** Most connections per address. */
  readonly connections?: number;
  /**
   * The organization that a server belongs to: it has half of the connections to an address at
   * most, so that a server that hangs costs its own organization. Without it nobody has a share.
   */
  readonly organizationOf?: (serverId: string) => string | undefined;
}

/**
 * All calls reject with {@link TradingServerUnreachable} where there is no clear answer; reads at
 * once, where the server left some in a row without one.
 */
export interface TradingServerClient {
  /** Tells the server its configuration; replaces the earlier one. */
  configure(serverId: string, configuration: ServerConfiguration): Promise<void>;
  /**
   * Carries out at most {@link MAX_BATCH_SIZE} changes; one outcome each, in order. Changes of one
   * account keep their order.
   */
  change(serverId: string, changes: readonly Change[]): Promise<Outcome[]>;
  /**
   * The outcome of each reference, in order; one that has none is closed, so that it can never
   * apply.
   */
  settle(serverId: string, references: readonly string[]): Promise<Outcome[]>;
  /** The account now, or null where there is none (or no longer). */
  snapshot(serverId: string, accountNumber: string): Promise<AccountSnapshot | null>;
  /**
   * Sequence of the account's last event, also of a deleted account; null where there never was
   * one.
   */
  eventSequence(serverId: string, accountNumber: string): Promise<number | null>;
  /**
   * At most `limit` events above `sinceSequence`, in order, and the account's last sequence (0: no
   * such account).
   */
  history(serverId: string, accountNumber: string, sinceSequence: number, limit: number): Promise<History>;
}

/** Makes a client that keeps one connection pool per address. */
export function createTradingServerClient(options: TradingServerClientOptions): Started<TradingServerClient> {
  const clients = new Map<string, Started<InternalClient>>();
  const { ca } = options;
  // One for all connections: making it reads every authority.
  const secureContext =
    ca === undefined ? undefined : createSecureContext({ ca: [...getCACertificates("default"), ca] });
  const clientAt = (baseUrl: string): InternalClient => {
    const known = clients.get(baseUrl);
    if (known !== undefined) return known.value;
    const { timeoutMs, connections = DEFAULT_CONNECTIONS } = options;
    const share = { connections: Math.ceil(connections / 2), waitingCalls: MAX_WAITING_CALLS_PER_ORGANIZATION };
    const started = createInternalClient({
      baseUrl,
      // Servers at one address have tokens of their own, which go with each call.
      credentials: {},
      secureContext,
      timeoutMs,
      connections,
      ...(options.organizationOf === undefined ? {} : { organizationShare: share }),
    });
    clients.set(baseUrl, started);
    return started.value;
  };

  const call = async <T>(request: CallOptions<T>): Promise<T | null> => {
    try {
      const path = `/v1/servers/${encodeURIComponent(request.serverId)}${request.path}`;
      const address = options.addressOf(request.serverId);
      if (address === undefined)
        throw new TradingServerUnreachable(`the address of server ${request.serverId} is not known`);
      const answer = await clientAt(address.url).request(request.method, path, request.body, {
        headers: tokenCredentials(address.token),
        organizationId: options.organizationOf?.(request.serverId),
      });
      if (answer.status === 404 && request.absent === true) return null;
      if (answer.status < 200 || answer.status > 299) throw unclear(request, `status ${answer.status}`);
      return request.schema === null ? null : request.schema.parse(JSON.parse(answer.body.toString("utf8")));
    } catch (error) {
      if (error instanceof TradingServerUnreachable) throw error;
      const reason = error instanceof DependencyError ? error.message : `unreadable answer: ${String(error)}`;
      throw unclear(request, reason, error);
    }
  };
  return {
    value: contractCalls(call, new ReadBreakers(monotonicClock)),
    stop: async () => {
      await Promise.all([...clients.values()].map((client) => client.stop()));
    },
  };
}

interface CallOptions<T> {
  readonly serverId: string;
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly body?: unknown;
  /** Null: the body of the answer is not read. */
  readonly schema: z.ZodType<T> | null;
  /** True: 404 means that there is no such thing, and gives null. */
  readonly absent?: boolean;
}

function contractCalls(
  call: <T>(request: CallOptions<T>) => Promise<T | null>,
  breakers: ReadBreakers,
): TradingServerClient {
  const read = <T>(request: Omit<CallOptions<T>, "method" | "absent">): Promise<T | null> =>
    breakers.run(request.serverId, () => call({ ...request, method: "GET", absent: true }));
  const outcomes = async (serverId: string, path: string, references: readonly string[], body: unknown) => {
    assert(references.length <= MAX_BATCH_SIZE, `a batch has at most ${MAX_BATCH_SIZE} items`);
    if (references.length === 0) return [];
    const request: CallOptions<z.infer<typeof OutcomesResponse>> = {
      serverId,
      method: "POST",
      path,
      body,
      schema: OutcomesResponse,
    };
    const answer = await call(request);
    const answered = answer?.outcomes ?? [];
    const inOrder = references.every((reference, index) => answered[index]?.reference === reference);
    if (!inOrder || answered.length !== references.length) throw unclear(request, "not one outcome for each reference");
    return answered;
  };
  return {
    configure: async (serverId, configuration) => {
      await call({ serverId, method: "PUT", path: "/configuration", body: configuration, schema: null });
    },
    change: (serverId, changes) => {
      const references = changes.map((change) => change.reference);
      return outcomes(serverId, "/changes", references, { changes });
    },
    settle: (serverId, references) => outcomes(serverId, "/settlements", references, { references }),
    snapshot: async (serverId, accountNumber) => {
      const path = `/accounts/${encodeURIComponent(accountNumber)}`;
      const answer = await read({ serverId, path, schema: SnapshotResponse });
      return answer?.account ?? null;
    },
    eventSequence: async (serverId, accountNumber) => {
      const path = `/accounts/${encodeURIComponent(accountNumber)}/sequence`;
      const answer = await read({ serverId, path, schema: SequenceResponse });
      return answer?.sequence ?? null;
    },
    history: async (serverId, accountNumber, sinceSequence, limit) => {
      assert(limit >= 1 && limit <= MAX_HISTORY_LIMIT, `a history page has at most ${MAX_HISTORY_LIMIT} events`);
      const path = `/accounts/${encodeURIComponent(accountNumber)}/history?since=${sinceSequence}&limit=${limit}`;
      const answer = await read({ serverId, path, schema: HistoryResponse });
      return answer ?? { events: [], lastSequence: 0 };
    },
  };
}

function unclear(
  request: { readonly serverId: string; readonly method: string; readonly path: string },
  reason: string,
  cause?: unknown,
): TradingServerUnreachable {
  const text = `trading server ${request.serverId}: ${request.method} ${request.path}: ${reason}`;
  return new TradingServerUnreachable(text, { cause });
}
