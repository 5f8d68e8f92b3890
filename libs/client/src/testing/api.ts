/** The HTTP API of the fake: routes, errors and lists in the form of the real API. */
import { randomUUID } from "node:crypto";

import { accountStateAt } from "./account-state.ts";
import { FakeError, type FakeAnswer, type FakeRequest, invalid, ok, page, utcOf } from "./answers.ts";
import { type CommandRequest, type FakeCommands, requiredKey } from "./commands.ts";
import { digestsOf } from "./digests.ts";
import { accountView, carryOut, deleteImmediately } from "./operations.ts";
import { PRICES } from "./prices.ts";
import { rejectInvalidRules, riskRulesView } from "./rules.ts";
import { type CommandOutcome, type FakeState, type Json, type StoredAccount, uuidOf } from "./state.ts";

const MANAGEMENT = "/api/v1/management";
/** Maximum number of events that a page of the feed covers if the request has no `limit`. */
const DEFAULT_EVENTS = 100;

interface Route {
  /** The id of the operation in the API. */
  readonly operation: string;
  readonly method: string;
  readonly pattern: RegExp;
  readonly run: (request: FakeRequest, ...path: string[]) => FakeAnswer;
}

/** Answers requests from the state of the fake. */
export class FakeApi {
  readonly #state: FakeState;
  readonly #serverIds: ReadonlySet<string>;
  readonly #commands: FakeCommands;
  readonly #routes: readonly Route[];

  constructor(state: FakeState, serverIds: readonly string[], commands: FakeCommands) {
    this.#state = state;
    this.#serverIds = new Set(serverIds);
    this.#commands = commands;
    this.#routes = this.#table();
  }

  /**
   * Returns the answer, and the id of its operation.
   * @throws FakeError for an answer that is an error.
   */
  answer(request: FakeRequest): FakeAnswer & Pick<Route, "operation"> {
    const path = request.url.pathname.slice(MANAGEMENT.length);
    for (const { operation, method, pattern, run } of this.#routes) {
      const match = method === request.method ? pattern.exec(path) : null;
      if (match !== null) return { ...run(request, ...match.slice(1).map(decodeURIComponent)), operation };
    }
    throw new FakeError(404, "NOT_FOUND", "Not found");
  }

  #table(): Route[] {
    const server = "/servers/([^/]+)";
    const account = `${server}/accounts/([^/]+)`;
    const route = (operation: string, method: string, path: string, run: Route["run"]): Route => ({
      operation,
      method,
      pattern: new RegExp(`^${path}$`),
      run,
    });
    const command = (operation: string, path: string, queued: string): Route =>
      route(operation, "POST", `${account}/${path}`, (request, id = "", number = "") =>
        this.#queueOn(request, id, number, queued),
      );
    const list = (operation: string, name: "transactions" | "orders" | "positions" | "deals" | "breaches"): Route =>
      route(operation, "GET", `${account}/${name}`, ({ url }, id = "", number = "") =>
        page(name, url, this.#account(id, number)[name]),
      );
    return [
      route("getCreditBalance", "GET", "/credits/balance", () => ok({ wallet: this.#wallet() })),
      route("getCreditPrices", "GET", "/credits/prices", () => ok({ prices: PRICES })),
      route("listCreditUsage", "GET", "/credits/usage", ({ url }) => page("usage", url, this.#state.usage)),
      route("getServerConfiguration", "GET", `${server}/configuration`, (_request, id = "") =>
        ok({ server: this.#configuration(id) }),
      ),
      route("listTradingAccounts", "GET", `${server}/accounts`, ({ url }, id = "") => {
        const accounts = [...this.#state.accounts.values()].filter(
          (found) => found.serverId === id && found.status !== "deleted",
        );
        return page(
          "accounts",
          url,
          accounts.map((found) => accountView(this.#state, found)),
        );
      }),
      route("createTradingAccount", "POST", `${server}/accounts`, (request, id = "") =>
        this.#queueCreation(request, id),
      ),
      route("bulkCreateTradingAccounts", "POST", `${server}/accounts/bulk`, (request, id = "") =>
        this.#queueBulk(request, id),
      ),
      route("getTradingAccount", "GET", account, (_request, id = "", number = "") => {
        const found = this.#account(id, number);
        return ok({ account: accountView(this.#state, found), credentials: credentialsOf(found) });
      }),
      route("getAccountState", "GET", `${account}/state`, ({ url }, id = "", number = "") =>
        this.#stateAt(url, id, number),
      ),
      route("updateTradingAccount", "PATCH", account, (request, id = "", number = "") =>
        this.#queueOn(request, id, number, "account.update"),
      ),
      route("deleteTradingAccountImmediately", "DELETE", account, (_request, id = "", number = "") => {
        this.#requireServer(id);
        const found = this.#state.accounts.get(number);
        if (found?.serverId !== id) throw new FakeError(400, "ACCOUNT_NOT_FOUND", "Trading account not found");
        return ok(deleteImmediately(this.#state, found));
      }),
      command("enableAccount", "enable", "account.enable"),
      command("disableAccount", "disable", "account.disable"),
      command("flattenAccount", "flatten", "account.flatten"),
      command("setAccountCloseOnly", "close-only", "account.close_only"),
      command("archiveAccount", "archive", "account.archive"),
      command("queueAccountDeletion", "delete", "account.delete"),
      command("resetTradingPassword", "password-reset", "account.password_reset"),
      command("resetInvestorPassword", "investor-password-reset", "account.investor_password_reset"),
      route("exportAccountHistory", "POST", `${account}/exports/history`, (request, id = "", number = "") =>
        this.#queueOn({ ...request, body: withUtcTimes(request.body) }, id, number, "account.history_export"),
      ),
      command("depositAccountFunds", "finance/deposits", "finance.deposit"),
      command("withdrawAccountFunds", "finance/withdrawals", "finance.withdraw"),
      list("listTradingAccountTransactions", "transactions"),
      list("listTradingAccountOrders", "orders"),
      list("listAccountPositions", "positions"),
      list("listAccountDeals", "deals"),
      route("getRiskRules", "GET", `${account}/risk-rules`, (_request, id = "", number = "") =>
        ok({ riskRules: riskRulesView(this.#account(id, number)) }),
      ),
      route("setRiskRules", "PUT", `${account}/risk-rules`, (request, id = "", number = "") => {
        rejectInvalidRules(request.body);
        return this.#queueOn(request, id, number, "risk.set_rules");
      }),
      route("deleteRiskRules", "DELETE", `${account}/risk-rules`, (request, id = "", number = "") => {
        const body = Object.fromEntries(request.url.searchParams);
        return this.#queueOn({ ...request, body }, id, number, "risk.delete_rules");
      }),
      list("listRiskBreaches", "breaches"),
      route("listDailyDigests", "GET", `${server}/digests`, ({ url }, id = "") => this.#digests(id, url)),
      route("listCommands", "GET", `${server}/commands`, ({ url }, id = "") =>
        page("commands", url, this.#commandsOf(id)),
      ),
      route("getCommand", "GET", "/commands/([^/]+)", (_request, id = "") => {
        const found = [...this.#state.commands.values()].find(({ view }) => view["id"] === id);
        if (found === undefined) throw new FakeError(404, "COMMAND_NOT_FOUND", "Command not found");
        return ok({ command: found.view });
      }),
      route("listEvents", "GET", "/events", ({ url }) => this.#feed(url)),
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

  #stateAt({ searchParams }: URL, serverId: string, accountNumber: string): FakeAnswer {
    const account = this.#account(serverId, accountNumber);
    const time = utcOf("at", searchParams.get("at"));
    const now = this.#state.now();
    if (time > now) throw invalid("at", `must not be in the future: the current time is ${now}`);
    if (time < account.createdAt) throw invalid("at", `must not be before the account began: ${account.createdAt}`);
    return ok({ state: accountStateAt(account, time) });
  }

  #requireServer(serverId: string): void {
    if (!this.#serverIds.has(serverId)) {
      throw new FakeError(403, "MISSING_SERVER_ACCESS", `Missing server access: ${serverId}`);
    }
  }

  #queueOn(request: FakeRequest, serverId: string, accountNumber: string, operation: string): FakeAnswer {
    this.#requireServer(serverId);
    const { method, url, body, idempotencyKey } = request;
    const answer = this.#commands.queue({
      operation,
      serverId,
      target: `${method} ${url.pathname}`,
      key: idempotencyKey,
      body,
      prepare: () => {
        const account = this.#account(serverId, accountNumber);
        return { account, run: (id) => carryOut(this.#state, account, operation, body, id) };
      },
    });
    if (!operation.endsWith("password_reset")) return answer;
    const password = body["password"] ?? uuidOf("password", String(idempotencyKey));
    return { ...answer, body: { ...answer.body, password } };
  }

  #queueCreation({ body, idempotencyKey }: FakeRequest, serverId: string): FakeAnswer {
    this.#requireServer(serverId);
    const creation = this.#creationOf(serverId, body, idempotencyKey);
    return withCredentials(this.#commands.queue(creation), creation);
  }

  #queueBulk({ body, idempotencyKey }: FakeRequest, serverId: string): FakeAnswer {
    this.#requireServer(serverId);
    const key = requiredKey(idempotencyKey);
    const accounts = body["accounts"] as readonly Json[];
    const creations = accounts.map((account, index) => this.#creationOf(serverId, account, `${key}:${index}`));
    const answers = this.#commands.queueBulk(creations);
    const results = creations.map((creation, index) => withCredentials(answers[index] as FakeAnswer, creation).body);
    return { status: 202, body: { results } };
  }

  #creationOf(serverId: string, body: Json, key: string | null): CommandRequest {
    const fields = body as { accountName: string; initialBalance: number; leverage: number };
    const run = (commandId: string): CommandOutcome => {
      const account = this.#state.create(serverId, uuidOf(commandId, "account"), fields);
      if (fields.initialBalance > 0) {
        this.#state.book(account, { type: "initial_balance", amountMinor: account.initialBalanceMinor, commandId });
      }
      return { result: { accountId: account.id, accountNumber: account.accountNumber } };
    };
    const target = `POST ${MANAGEMENT}/servers/${serverId}/accounts`;
    return { operation: "account.create", serverId, target, key, body, prepare: () => ({ account: null, run }) };
  }

  #commandsOf(serverId: string): Json[] {
    this.#requireServer(serverId);
    return [...this.#state.commands.values()].map(({ view }) => view).filter((view) => view["serverId"] === serverId);
  }

  #feed(url: URL): FakeAnswer {
    const { events } = this.#state;
    const after = url.searchParams.get("after") ?? "0";
    const start = after === "now" ? events.length : Number(after);
    const limit = Number(url.searchParams.get("limit") ?? DEFAULT_EVENTS);
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

/** Adds the passwords of the account, which only the first answer has. */
function withCredentials(answer: FakeAnswer, { body, key }: CommandRequest): FakeAnswer {
  if (answer.body["duplicate"] === true) return answer;
  const tradingPassword = body["password"] ?? uuidOf("trading", String(key));
  const credentials = { tradingPassword, investorPassword: uuidOf("investor", String(key)) };
  return { ...answer, body: { ...answer.body, credentials } };
}

/** The body of an export, with `from` and `to` in the form of the times of records: in UTC. */
function withUtcTimes(body: Json): Json {
  const times = ["from", "to"].filter((field) => field in body).map((field) => [field, utcOf(field, body[field])]);
  return { ...body, ...Object.fromEntries(times) };
}

function credentialsOf({ accountNumber, serverId, createdAt }: StoredAccount): Json {
  const changed = { tradingPasswordChangedAt: createdAt, investorPasswordChangedAt: createdAt };
  const set = { tradingPasswordSet: true, investorPasswordSet: true };
  return { login: accountNumber, serverId, serverName: "Fake-Demo", ...set, ...changed };
}

/** Returns the id of a request: the one that the client sent, or a new one. */
export function requestIdOf(headers: Headers): string {
  return headers.get("x-request-id") ?? randomUUID();
}
