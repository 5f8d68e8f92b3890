import type { Readable } from "node:stream";
import { buffer as readAll } from "node:stream/consumers";

import {
  CommandsAnswer,
  CommandAnswer,
  Guid,
  MIN_SEARCH_CHARACTERS,
  EventDeliveriesAnswer,
  SEARCH_SOURCES,
  type Command,
  type SearchAnswer,
  WEBHOOKS_ROUTES,
  type ConsoleRequest,
  type SearchResult,
  type SearchSource,
  type TradingAccount,
} from "@kapi/contracts";
import type { Caller } from "@kapi/http";

import type { Accounts, Commands, Directory, FindTransaction, Risk, Webhooks } from "../domain/ports.ts";
import type { RequestLogStore } from "../domain/request-log.ts";

/** Maximum results of one source. */
const MAX_RESULTS = 5;
/**
 * Accounts, and request ids of commands, are searched only on the oldest servers: at most on this
 * number of servers.
 */
const MAX_SERVERS = 20;
/**
 * Maximum wait for the list of servers, and then for each source. A source that does not answer in
 * time is named in the answer.
 */
const SOURCE_DEADLINE_MS = 1_000;
const NOT_FOUND = 404;

/**
 * The sources of a search. A source that fails or is late is named in the answer; the other results
 * are still returned.
 */
export interface SearchDependencies {
  /** Keys, and the organization's servers. If it is unavailable, so are all sources. */
  readonly directory: Directory;
  readonly accounts: Accounts;
  readonly commands: Commands;
  readonly findTransaction: FindTransaction;
  readonly risk: Risk;
  readonly requestLog: Pick<RequestLogStore, "list">;
  readonly webhooks: Webhooks;
}

/** The person for whom the console searches. */
export interface SearchingPerson {
  readonly organizationId: string;
  readonly caller: Caller;
}

/** A search of one source; an empty list if nothing matches the text. */
type Search = (text: string, serverIds: readonly string[]) => Promise<readonly SearchResult[]>;

/**
 * Finds what a text names. A UUID may be the id of a command, a transaction, an event or a breach.
 * Any text may be a part of a key's name, or a key's id. A text of at least
 * {@link MIN_SEARCH_CHARACTERS} may also be a request id, or a part of an account's number or name.
 */
export async function search(
  dependencies: SearchDependencies,
  person: SearchingPerson,
  text: string,
): Promise<SearchAnswer> {
  const servers = inTime(dependencies.directory.servers(person.organizationId));
  const searches = searchesOf(dependencies, person);
  const answers = await Promise.all(
    SEARCH_SOURCES.map(async (source): Promise<SearchAnswer> => {
      try {
        const serverIds = (await servers).servers.map(({ serverId }) => serverId);
        return { results: [...(await inTime(searches[source](text, serverIds)))], unavailable: [] };
      } catch {
        return { results: [], unavailable: [source] };
      }
    }),
  );
  return {
    results: answers.flatMap(({ results }) => results),
    unavailable: answers.flatMap(({ unavailable }) => unavailable),
  };
}

function searchesOf(
  dependencies: SearchDependencies,
  { organizationId, caller }: SearchingPerson,
): Readonly<Record<SearchSource, Search>> {
  const { directory, accounts, commands, findTransaction, risk, requestLog, webhooks } = dependencies;
  return {
    accounts: async (text, serverIds) => {
      if (text.length < MIN_SEARCH_CHARACTERS) return [];
      const query = { search: text, page: 1, limit: MAX_RESULTS };
      const pages = await Promise.all(searched(serverIds).map((serverId) => accounts.list(serverId, query)));
      return pages
        .flatMap((page) => page.accounts)
        .toSorted((a, b) => Number(b.accountNumber === text) - Number(a.accountNumber === text))
        .slice(0, MAX_RESULTS)
        .map(accountResult);
    },
    commands: async (text, serverIds) => {
      if (text.length < MIN_SEARCH_CHARACTERS) return [];
      const id = guidOf(text);
      const query = { requestId: text, page: 1, limit: MAX_RESULTS };
      const [body, ...lists] = await Promise.all([
        id === null ? null : commands.read(organizationId, id),
        ...searched(serverIds).map((serverId) => commands.list(organizationId, serverId, query)),
      ]);
      const named = body === null ? [] : [CommandAnswer.parse(parsed(body)).command];
      const own = named.filter(({ serverId }) => serverIds.includes(serverId));
      const requested = await Promise.all(
        lists.map(async (list) => CommandsAnswer.parse(parsed(await wholeOf(list))).commands),
      );
      return [...own, ...requested.flat()].slice(0, MAX_RESULTS).map(commandResult);
    },
    transactions: async (text, serverIds) => {
      const id = guidOf(text);
      const found = id === null ? null : await findTransaction(serverIds, id);
      if (found === null) return [];
      const { serverId, accountNumber, type, amount, currency, commandId, recordedAt } = found;
      const shown = { serverId, accountNumber, type, amount, currency, commandId, recordedAt };
      return [{ kind: "transaction", transactionId: found.id, ...shown }];
    },
    requests: async (text) => {
      if (text.length < MIN_SEARCH_CHARACTERS) return [];
      const query = { requestId: text, limit: MAX_RESULTS };
      const { requests } = await requestLog.list(organizationId, query);
      return requests.map(requestResult);
    },
    events: async (text) => {
      const id = guidOf(text);
      if (id === null) return [];
      const request = { route: WEBHOOKS_ROUTES.getEvent, params: { eventId: id }, caller };
      const answer = await webhooks(organizationId, request);
      if ("rejection" in answer) {
        if (answer.rejection.status === NOT_FOUND) return [];
        throw answer.rejection;
      }
      const { type, accountNumber, createdAt } = EventDeliveriesAnswer.parse(parsed(answer.body)).event;
      return [{ kind: "event", eventId: id, type, accountNumber, createdAt }];
    },
    breaches: async (text, serverIds) => {
      const id = guidOf(text);
      const found = id === null ? null : await risk.find(serverIds, id);
      if (found === null) return [];
      const { serverId, accountNumber, rule, measuredAt } = found;
      return [{ kind: "breach", breachId: found.id, serverId, accountNumber, ruleId: rule.id, measuredAt }];
    },
    keys: async (text) => {
      const part = text.toLowerCase();
      const keys = await directory.keys(organizationId);
      return keys
        .filter(({ name, keyId }) => name.toLowerCase().includes(part) || keyId.toLowerCase() === part)
        .slice(0, MAX_RESULTS)
        .map(({ keyId, name, status }) => ({ kind: "key", keyId, name, status }));
    },
  };
}

function searched(serverIds: readonly string[]): readonly string[] {
  return serverIds.slice(0, MAX_SERVERS);
}

function guidOf(text: string): string | null {
  const guid = Guid.safeParse(text);
  return guid.success ? guid.data : null;
}

function parsed(body: Buffer): unknown {
  return JSON.parse(body.toString("utf8"));
}

function wholeOf(body: Buffer | Readable): Buffer | Promise<Buffer> {
  return Buffer.isBuffer(body) ? body : readAll(body);
}

function accountResult({ serverId, accountNumber, accountName, status }: TradingAccount): SearchResult {
  return { kind: "account", serverId, accountNumber, accountName, status };
}

function requestResult({ id, requestId, operation, status, at }: ConsoleRequest): SearchResult {
  return { kind: "request", id, requestId, operation, status, at };
}

function commandResult({ id, accountNumber, ...command }: Command): SearchResult {
  const { serverId, operation, status, requestId = null, createdAt } = command;
  const shown = { serverId, operation, status, requestId, createdAt };
  return { kind: "command", commandId: id, accountNumber: accountNumber ?? null, ...shown };
}

/**
 * The result of `work`. Rejects if it takes longer than {@link SOURCE_DEADLINE_MS}. The request is
 * not cancelled: it goes on until the timeout of its HTTP client.
 */
async function inTime<T>(work: Promise<T>): Promise<T> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => timeout.reject(new Error("no answer in time")), SOURCE_DEADLINE_MS);
  try {
    return await Promise.race([work, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}
