/**
 * HTTP client of the trading-server contract. It never guesses: every unclear answer becomes {@link
 * TradingServerUnreachable}. The caller then repeats the call with the same references, or settles
 * them.
 */
import { createSecureContext, getCACertificates } from "node:tls";

import type { z } from "zod";

import { MAX_QUOTE_SYMBOLS, type Quote } from "@kapi/contracts";
import { ApiError, startInternalClient, DependencyError, type InternalClient, tokenCredentials } from "@kapi/http";
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
  QuotesResponse,
  SequenceResponse,
  type ServerConfiguration,
  SnapshotResponse,
} from "./contract.ts";
import { ReadBreakers } from "./read-breakers.ts";
import { parseStorableJson } from "./storable-json.ts";
import { TradingServerCallNotSent, TradingServerUnreachable } from "./unreachable.ts";

/** Default number of connections to one address. */
const DEFAULT_CONNECTIONS = 64;
/**
 * Maximum number of calls of an organization that wait for a connection to one address. Further
 * calls fail at once.
 */
const MAX_WAITING_CALLS_PER_ORGANIZATION = 1_000;

/** How to find a trading server, and the limits of calls to one address. */
export interface TradingServerClientOptions {
  /** Undefined: unknown server. */
  readonly addressOf: (serverId: string) => TradingServerAddress | undefined;
  /** PEM: additional certificate authorities. */
  readonly ca?: string | undefined;
  /** Timeout of one call, in milliseconds. */
  readonly timeoutMs: number;
  /** Maximum number of connections per address. Default 64. */
  readonly connections?: number;
  /**
   * Returns the organization of a server. All calls of one organization together use at most half
   * (rounded up) of the connections to an address, so a hanging server affects only its own
   * organization. Without this option the calls of an organization have no such limit.
   */
  readonly organizationOf?: (serverId: string) => string | undefined;
}

/**
 * A call without a clear answer rejects with {@link TradingServerUnreachable}. After several
 * unanswered reads of a server, further reads of this server are not sent, and reject in the same
 * way at once. Reads continue when a read that probes the server is answered. If too many calls of
 * the server's organization wait, a read rejects with ApiError TOO_MANY_CONCURRENT_REQUESTS, and
 * every other call with {@link TradingServerCallNotSent}.
 */
export interface TradingServerClient {
  /** Sends the server its configuration; replaces the earlier one. */
  configure(serverId: string, configuration: ServerConfiguration): Promise<void>;
  /**
   * Applies at most {@link MAX_BATCH_SIZE} changes; outcomes in the same order. Changes of one
   * account keep their order.
   */
  change(serverId: string, changes: readonly Change[]): Promise<Outcome[]>;
  /**
   * Settles at most {@link MAX_BATCH_SIZE} references; outcomes in the same order. A reference
   * without an outcome is closed: its change never applies.
   */
  settle(serverId: string, references: readonly string[]): Promise<Outcome[]>;
  /** Null: unknown or deleted account. */
  snapshot(serverId: string, accountNumber: string): Promise<AccountSnapshot | null>;
  /** Sequence of the account's last event, also after deletion; null: the account never existed. */
  eventSequence(serverId: string, accountNumber: string): Promise<number | null>;
  /**
   * At most `limit` events after `sinceSequence`, in order, and the account's last sequence (0: the
   * account never existed). `limit`: 1 to {@link MAX_HISTORY_LIMIT}.
   */
  history(serverId: string, accountNumber: string, sinceSequence: number, limit: number): Promise<History>;
  /**
   * For each symbol the last quote at or before `at` (ISO), in any order; a symbol without one is
   * left out. `symbols`: 1 to {@link MAX_QUOTE_SYMBOLS}, each a `QuoteSymbol` of contracts. Null:
   * the trading server gives no quotes.
   */
  quotes(serverId: string, symbols: readonly string[], at: string): Promise<Quote[] | null>;
}

/** Starts a client with one connection pool per address. `stop` closes the pools. */
export function startTradingServerClient(options: TradingServerClientOptions): Started<TradingServerClient> {
  const clients = new Map<string, Started<InternalClient>>();
  const { ca } = options;
  // Shared by all connections, because creating it parses every authority.
  const secureContext =
    ca === undefined ? undefined : createSecureContext({ ca: [...getCACertificates("default"), ca] });
  const clientAt = (baseUrl: string): InternalClient => {
    const known = clients.get(baseUrl);
    if (known !== undefined) return known.value;
    const { timeoutMs, connections = DEFAULT_CONNECTIONS } = options;
    const share = { connections: Math.ceil(connections / 2), waitingCalls: MAX_WAITING_CALLS_PER_ORGANIZATION };
    const started = startInternalClient({
      baseUrl,
      // Servers at one address have different tokens, which go with each call.
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
        throw new TradingServerUnreachable(`trading server ${request.serverId} is not in the directory`);
      const answer = await clientAt(address.url).request(request.method, path, request.body, {
        headers: tokenCredentials(address.token),
        organizationId: options.organizationOf?.(request.serverId),
      });
      if (answer.status === 404 && request.absent === true) return null;
      if (answer.status < 200 || answer.status > 299) throw unclear(request, `status ${answer.status}`);
      return request.schema === null ? null : request.schema.parse(parseStorableJson(answer.body.toString("utf8")));
    } catch (error) {
      if (error instanceof TradingServerUnreachable) throw error;
      // This attempt was not sent. Only a read may have had an earlier attempt, because reads are
      // sent again after a lost connection.
      if (error instanceof ApiError && error.code === "TOO_MANY_CONCURRENT_REQUESTS") {
        throw request.method === "GET" ? error : notSent(request, error);
      }
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
  /** Null: the body is not read. */
  readonly schema: z.ZodType<T> | null;
  /** True: 404 returns null. */
  readonly absent?: boolean;
}

function contractCalls(
  call: <T>(request: CallOptions<T>) => Promise<T | null>,
  breakers: ReadBreakers,
): TradingServerClient {
  const read = <T>(request: Omit<CallOptions<T>, "method" | "absent">): Promise<T | null> =>
    breakers.run(request.serverId, () => call({ ...request, method: "GET", absent: true }));
  const outcomes = async (serverId: string, path: string, references: readonly string[], body: unknown) => {
    assert(references.length <= MAX_BATCH_SIZE, `a batch has ${references.length} items, more than ${MAX_BATCH_SIZE}`);
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
      assert(limit >= 1 && limit <= MAX_HISTORY_LIMIT, `the limit ${limit} is not from 1 to ${MAX_HISTORY_LIMIT}`);
      const path = `/accounts/${encodeURIComponent(accountNumber)}/history?since=${sinceSequence}&limit=${limit}`;
      const answer = await read({ serverId, path, schema: HistoryResponse });
      return answer ?? { events: [], lastSequence: 0 };
    },
    quotes: async (serverId, symbols, at) => {
      const count = symbols.length;
      assert(count >= 1 && count <= MAX_QUOTE_SYMBOLS, `${count} symbols are requested, not 1 to ${MAX_QUOTE_SYMBOLS}`);
      const path = `/quotes?${new URLSearchParams({ symbols: symbols.join(","), at }).toString()}`;
      const answer = await read({ serverId, path, schema: QuotesResponse });
      if (answer === null) return null;
      if (areRequested(answer.quotes, symbols, at)) return answer.quotes;
      throw unclear({ serverId, method: "GET", path }, "a quote that was not requested, is repeated, or is too late");
    },
  };
}

/** Whether every quote has one of `symbols` and is not after `at`, and no symbol has two quotes. */
function areRequested(quotes: readonly Quote[], symbols: readonly string[], at: string): boolean {
  const open = new Set(symbols);
  return quotes.every(({ symbol, measuredAt }) => open.delete(symbol) && Date.parse(measuredAt) <= Date.parse(at));
}

function notSent({ serverId, method, path }: Omit<CallOptions<unknown>, "schema">, cause: Error): Error {
  const text = `trading server ${serverId}: ${method} ${path}: not sent, because too many calls of its organization wait`;
  return new TradingServerCallNotSent(text, { cause });
}

function unclear(
  request: { readonly serverId: string; readonly method: string; readonly path: string },
  reason: string,
  cause?: unknown,
): TradingServerUnreachable {
  const text = `trading server ${request.serverId}: ${request.method} ${request.path}: ${reason}`;
  return new TradingServerUnreachable(text, { cause });
}
