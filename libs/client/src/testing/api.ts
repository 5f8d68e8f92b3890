/** The HTTP API of the kapi in memory: routes, errors and lists in the form of the real one. */
import { randomUUID } from "node:crypto";

import { digestsOf } from "./digests.ts";
import { accountView, carryOut } from "./operations.ts";
import {
  type CommandOutcome,
  type FakeState,
  type Json,
  type StoredAccount,
  type StoredCommand,
  uuidOf,
} from "./state.ts";

const DEFAULT_LIMIT = 20;
const MANAGEMENT = "/api/v1/management";
const COMMAND_DEADLINE_MS = 15 * 60_000;

/** An answer with its status. */
export interface FakeAnswer {
  readonly status: number;
  readonly body: Json;
}

/** An answer that is an error. */
export class FakeError extends Error {
  readonly status: number;
  readonly code: string;
  readonly issues: readonly Json[] | undefined;

  constructor(status: number, code: string, text: string, issues?: readonly Json[]) {
    super(text);
    this.status = status;
    this.code = code;
    this.issues = issues;
  }
}

/** A request to the fake. */
export interface FakeRequest {
  readonly method: string;
  readonly url: URL;
  readonly body: Json;
  readonly idempotencyKey: string | null;
}

/** How commands are carried out: the controls of a test decide. */
export interface CommandControl {
  /** Whether a new command waits in the state `queued`. */
  readonly isHeld: () => boolean;
  /** The outcome that a test wants for the next command, or null. */
  readonly takeOutcome: () => CommandOutcome | "expired" | null;
}

interface Route {
  readonly method: string;
  readonly pattern: RegExp;
  readonly run: (request: FakeRequest, ...path: string[]) => FakeAnswer;
}

export class FakeApi {
  readonly #state: FakeState;
  readonly #serverIds: ReadonlySet<string>;
  readonly #control: CommandControl;
  readonly #routes: readonly Route[];

  constructor(state: FakeState, serverIds: readonly string[], control: CommandControl) {
    this.#state = state;
    this.#serverIds = new Set(serverIds);
    this.#control = control;
    this.#routes = this.#table();
  }

  /** @throws FakeError for an answer that is an error. */
  answer(request: FakeRequest): FakeAnswer {
    const path = request.url.pathname.slice(MANAGEMENT.length);
    for (const { method, pattern, run } of this.#routes) {
      const match = method === request.method ? pattern.exec(path) : null;
      if (match !== null) return run(request, ...match.slice(1).map(decodeURIComponent));
    }
    throw new FakeError(404, "NOT_FOUND", "Not found");
  }

  /** Carries out a command that waits. */
  finish({ view, run }: StoredCommand): void {
    const wanted = this.#control.takeOutcome();
    const outcome = wanted === "expired" ? null : (wanted ?? run());
    const at = this.#state.now();
    if (outcome === null) Object.assign(view, { status: "expired", completedAt: at, updatedAt: at });
    else if ("result" in outcome) {
      Object.assign(view, { status: "succeeded", attempts: 1, result: outcome.result, completedAt: at, updatedAt: at });
    } else {
      const { errorCode } = outcome;
      Object.assign(view, {
        status: "failed",
        attempts: 1,
        errorCode,
        errorMessage: errorCode,
        completedAt: at,
        updatedAt: at,
      });
    }
  }

  #table(): Route[] {
    const server = "/servers/([^/]+)";
    const account = `${server}/accounts/([^/]+)`;
    const route = (method: string, path: string, run: Route["run"]): Route => ({
      method,
      pattern: new RegExp(`^${path}$`),
      run,
    });
    const command = (path: string, operation: string): Route =>
      route("POST", `${account}/${path}`, (request, id = "", number = "") =>
        this.#queueOn(request, id, number, operation),
      );
    const list = (name: "transactions" | "orders" | "positions" | "deals"): Route =>
      route("GET", `${account}/${name}`, ({ url }, id = "", number = "") =>
        page(name, url, this.#account(id, number)[name]),
      );
    return [
      route("GET", "/credits/balance", () => ok({ wallet: this.#wallet() })),
      route("GET", "/credits/prices", () => ok({ prices: PRICES })),
      route("GET", "/credits/usage", ({ url }) => page("usage", url, this.#state.usage)),
      route("GET", `${server}/configuration`, (_request, id = "") => ok({ server: this.#configuration(id) })),
      route("GET", `${server}/accounts`, ({ url }, id = "") => {
        const accounts = [...this.#state.accounts.values()].filter(
          (found) => found.serverId === id && found.status !== "deleted",
        );
        return page(
          "accounts",
          url,
          accounts.map((found) => accountView(this.#state, found)),
        );
      }),
      route("POST", `${server}/accounts`, (request, id = "") => this.#queueCreation(request, id)),
      route("POST", `${server}/accounts/bulk`, (request, id = "") => this.#queueBulk(request, id)),
      route("GET", account, (_request, id = "", number = "") => {
        const found = this.#account(id, number);
        return ok({ account: accountView(this.#state, found), credentials: credentialsOf(found) });
      }),
      route("PATCH", account, (request, id = "", number = "") => this.#queueOn(request, id, number, "account.update")),
      route("DELETE", account, (_request, id = "", number = "") => {
        this.#account(id, number).status = "deleted";
        return ok({ accountNumber: number, deleted: true });
      }),
      command("enable", "account.enable"),
      command("disable", "account.disable"),
      command("archive", "account.archive"),
      command("delete", "account.delete"),
      command("password-reset", "account.password_reset"),
      command("investor-password-reset", "account.investor_password_reset"),
      command("exports/history", "account.history_export"),
      command("finance/deposits", "finance.deposit"),
      command("finance/withdrawals", "finance.withdraw"),
      list("transactions"),
      list("orders"),
      list("positions"),
      list("deals"),
      route("GET", `${server}/digests`, ({ url }, id = "") => this.#digests(id, url)),
      route("GET", `${server}/commands`, ({ url }, id = "") => page("commands", url, this.#commandsOf(id, url))),
      route("GET", "/commands/([^/]+)", (_request, id = "") => {
        const found = [...this.#state.commands.values()].find(({ view }) => view["id"] === id);
        if (found === undefined) throw new FakeError(404, "COMMAND_NOT_FOUND", "Command not found");
        return ok({ command: found.view });
      }),
      route("GET", "/events", ({ url }) => this.#feed(url)),
    ];
  }

  #digests(serverId: string, url: URL): FakeAnswer {
    this.#requireServer(serverId);
    const date = url.searchParams.get("date") ?? "";
    if (date === "" || this.#state.now().slice(0, date.length) <= date) {
      throw invalid("date", "must be a day that is over in UTC");
    }
    return page("digests", url, digestsOf(this.#state, serverId, date));
  }

  #account(serverId: string, accountNumber: string): StoredAccount {
    this.#requireServer(serverId);
    const account = this.#state.account(serverId, accountNumber);
    if (account === undefined) throw new FakeError(404, "ACCOUNT_NOT_FOUND", "Trading account not found");
    return account;
  }

  #requireServer(serverId: string): void {
    if (!this.#serverIds.has(serverId)) {
      throw new FakeError(403, "MISSING_SERVER_ACCESS", `Missing server access: ${serverId}`);
    }
  }

  #queueOn(request: FakeRequest, serverId: string, accountNumber: string, operation: string): FakeAnswer {
    const account = this.#account(serverId, accountNumber);
    const answer = this.#queue(request, serverId, account, operation, request.body, request.idempotencyKey, (id) =>
      account.status === "deleted"
        ? { errorCode: "ACCOUNT_NOT_FOUND" }
        : carryOut(this.#state, account, operation, request.body, id),
    );
    if (!operation.endsWith("password_reset")) return answer;
    const password = request.body["password"] ?? uuidOf("password", String(request.idempotencyKey));
    return { ...answer, body: { ...answer.body, password } };
  }

  #queueCreation(request: FakeRequest, serverId: string): FakeAnswer {
    this.#requireServer(serverId);
    return this.#createOne(request, serverId, request.body, request.idempotencyKey);
  }

  #queueBulk(request: FakeRequest, serverId: string): FakeAnswer {
    this.#requireServer(serverId);
    const accounts = request.body["accounts"] as readonly Json[];
    const results = accounts.map(
      (body, index) => this.#createOne(request, serverId, body, `${request.idempotencyKey}:${index}`).body,
    );
    return { status: 202, body: { results } };
  }

  #createOne(request: FakeRequest, serverId: string, body: Json, key: string | null): FakeAnswer {
    const fields = body as { accountName: string; initialBalance: number; leverage: number };
    const answer = this.#queue(request, serverId, null, "account.create", body, key, (commandId) => {
      const account = this.#state.create(serverId, uuidOf(commandId, "account"), fields);
      if (fields.initialBalance > 0) {
        this.#state.book(account, { type: "initial_balance", amountMinor: account.initialBalanceMinor, commandId });
      }
      return { result: { accountId: account.id, accountNumber: account.accountNumber } };
    });
    if (answer.body["duplicate"] === true) return answer;
    const tradingPassword = body["password"] ?? uuidOf("trading", String(key));
    const credentials = { tradingPassword, investorPassword: uuidOf("investor", String(key)) };
    return { ...answer, body: { ...answer.body, credentials } };
  }

  #queue(
    request: FakeRequest,
    serverId: string,
    account: StoredAccount | null,
    operation: string,
    body: Json,
    key: string | null,
    run: (commandId: string) => CommandOutcome,
  ): FakeAnswer {
    if (key === null || key === "") throw invalid("Idempotency-Key", "is required");
    if (typeof body["requestId"] !== "string") throw invalid("requestId", "is required");
    const { requestId, password: _password, ...payload } = body;
    const fingerprint = JSON.stringify([request.method, request.url.pathname, payload]);
    const known = this.#state.commands.get(key);
    if (known !== undefined) {
      if (known.fingerprint !== fingerprint) {
        const status = operation === "account.create" ? 409 : 400;
        const text = "Idempotency-Key was already used for a different request";
        throw new FakeError(status, "IDEMPOTENCY_KEY_REUSED", text);
      }
      return { status: 200, body: { command: known.view, duplicate: true } };
    }
    const id = uuidOf(this.#state.organizationId, key);
    const at = this.#state.now();
    const view = {
      id,
      operation,
      status: "queued",
      managedAccountId: account?.id ?? uuidOf(id, "account"),
      attempts: 0,
      payload,
      result: null,
      errorCode: null,
      errorMessage: null,
      idempotencyKey: key,
      createdAt: at,
      completedAt: null,
      requestId,
      serverId,
      accountNumber: account?.accountNumber ?? null,
      updatedAt: at,
      deadlineAt: new Date(Date.parse(at) + COMMAND_DEADLINE_MS).toISOString(),
      createdBy: null,
    };
    const command: StoredCommand = { fingerprint, view, run: () => run(id) };
    this.#state.commands.set(key, command);
    const queued = { ...view };
    if (!this.#control.isHeld()) this.finish(command);
    return { status: 202, body: { command: queued, duplicate: false } };
  }

  #commandsOf(serverId: string, url: URL): Json[] {
    this.#requireServer(serverId);
    const bulk = url.searchParams.get("bulkIdempotencyKey");
    const views = [...this.#state.commands.values()]
      .map(({ view }) => view)
      .filter((view) => view["serverId"] === serverId);
    return bulk === null ? views : views.filter((view) => String(view["idempotencyKey"]).startsWith(`${bulk}:`));
  }

  #feed(url: URL): FakeAnswer {
    const { events } = this.#state;
    const after = url.searchParams.get("after") ?? "0";
    const start = after === "now" ? events.length : Number(after);
    const limit = Number(url.searchParams.get("limit") ?? DEFAULT_LIMIT);
    const kinds = url.searchParams.get("kinds")?.split(",");
    const shown = events.slice(start, start + limit);
    const matching = kinds === undefined ? shown : shown.filter((event) => kinds.includes(String(event["type"])));
    return ok({ events: matching, next: String(start + shown.length) });
  }

  #wallet(): Json {
    const { organizationId, availableCredits, consumedCredits } = this.#state;
    const at = this.#state.now();
    return {
      id: uuidOf(organizationId, "wallet"),
      organizationId,
      availableCredits,
      reservedCredits: 0,
      lifetimePurchased: availableCredits + consumedCredits,
      lifetimeConsumed: consumedCredits,
      lowBalanceThreshold: 0,
      createdAt: at,
      updatedAt: at,
      lowBalance: availableCredits <= 0,
    };
  }

  #configuration(serverId: string): Json {
    this.#requireServer(serverId);
    const names = { serverName: "Fake-Demo", companyName: "Fake", currency: "USD", currencySymbol: "$" };
    const rules = { environment: "demo", supportedLeverage: [1, 10, 100, 500], defaultLeverage: 100, status: "active" };
    return { serverId, ...names, ...rules };
  }
}

const PRICES = { read: 1, mutation: 5, create: 10, bulkItem: 10, export: 20, liveConnection: 1 };

function ok(body: Json): FakeAnswer {
  return { status: 200, body };
}

function invalid(field: string, message: string): FakeError {
  return new FakeError(400, "VALIDATION_FAILED", "Invalid request", [{ path: [field], code: "invalid_type", message }]);
}

function credentialsOf({ accountNumber, serverId, createdAt }: StoredAccount): Json {
  const changed = { tradingPasswordChangedAt: createdAt, investorPasswordChangedAt: createdAt };
  const set = { tradingPasswordSet: true, investorPasswordSet: true };
  return { login: accountNumber, serverId, serverName: "Fake-Demo", ...set, ...changed };
}

/** Parameters of lists that are no filters of a field. */
const NO_FILTERS = new Set(["page", "limit", "cursor", "from", "to", "search", "bulkIdempotencyKey"]);

/** Whether the own time of a record is at or after `from` and before `to`. */
function isWithin(record: Json, from: string | null, to: string | null): boolean {
  const time = String(record["recordedAt"] ?? record["executedAt"] ?? record["openedAt"] ?? record["createdAt"]);
  return (from === null || time >= from) && (to === null || time < to);
}

/** A page of records that are given oldest first. A cursor is the number of older records. */
function page(name: string, url: URL, records: readonly Json[]): FakeAnswer {
  const query = url.searchParams;
  const limit = Number(query.get("limit") ?? DEFAULT_LIMIT);
  const filters = [...query].filter(([field, value]) => !NO_FILTERS.has(field) && value !== "all");
  const numbered = records.map((record, index) => ({ record, index }));
  const matching = numbered
    .filter(({ record }) => filters.every(([field, value]) => String(record[field]) === value))
    .filter(({ record }) => isWithin(record, query.get("from"), query.get("to")))
    .reverse();
  const below = Number(query.get("cursor") ?? records.length);
  const left = matching.filter(({ index }) => index < below);
  const skipped = query.has("cursor") ? 0 : (Number(query.get("page") ?? 1) - 1) * limit;
  const shown = left.slice(skipped, skipped + limit);
  const last = shown.at(-1);
  const hasMore = last !== undefined && left.at(-1) !== last;
  const pagination = {
    page: Number(query.get("page") ?? 1),
    limit,
    total: matching.length,
    totalPages: Math.ceil(matching.length / limit),
    nextCursor: hasMore ? String(last.index) : null,
  };
  return ok({ [name]: shown.map(({ record }) => record), pagination });
}

/** Ids of requests of the fake. */
export function requestIdOf(headers: Headers): string {
  return headers.get("x-request-id") ?? randomUUID();
}
