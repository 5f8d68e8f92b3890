/**
 * Requests to the console's own routes (contracts, `http/console*.ts` and `http/webhooks.ts`).
 * `PeopleApi`, `RiskApi` and `AccountLists` have the other routes.
 */
import { AccountLists } from "./account-lists.ts";
import { type Client, type DownloadProgress, queryOf, streamAddress } from "./client.ts";
import { Failure, UNAUTHORIZED } from "./failure.ts";
import { PeopleApi } from "./people-api.ts";
import { RiskApi } from "./risk-api.ts";
import type {
  AccountAction,
  AccountRiskRules,
  AuditAnswer,
  BreachEvidence,
  Command,
  CommandEnvelope,
  ConsoleAccountsAnswer,
  ConsoleEquityHistory,
  ConsoleOverview,
  ConsoleRequest,
  ConsoleRequestsAnswer,
  ConsoleServersAnswer,
  ConsoleSession,
  CreateConsoleKeyBody,
  CreatedConsoleKeyAnswer,
  CreditUsage,
  EquityRange,
  EventDeliveriesAnswer,
  FoundCommandsAnswer,
  ListedConsoleKey,
  NearLimitsAnswer,
  Pagination,
  RecentBreachesAnswer,
  RiskBreach,
  ScopesAnswer,
  SearchAnswer,
  TradingAccount,
  UpdateConsoleServerBody,
  UsageByDayAnswer,
  Wallet,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookSecret,
  WebhookSettings,
} from "./shapes.ts";

/** The query of the list of accounts: filters, order and page, by their names in the API. */
export type AccountFilter = Readonly<Record<string, string | number>>;

/** The query of the list of commands, by the names of its fields in the API. */
export type CommandFilter = Readonly<Record<string, string | number>>;

/** Filters of the audit log. Empty texts filter nothing. */
export interface AuditFilter {
  /** Id of the last entry of the previous page. */
  readonly before: string;
  readonly actorType: string;
  readonly actorId: string;
  readonly action: string;
  readonly subjectId: string;
  /** Times in UTC. */
  readonly from: string;
  readonly to: string;
}

/** Fields of the query of a list of deliveries; empty texts filter nothing. */
export interface DeliveryFilter {
  readonly page: number;
  readonly limit: number;
  readonly status: string;
  readonly type: string;
}

/** Fields of the query of GET /requests; `limit` is a number. */
export type RequestFilter = Readonly<Record<string, string | number>>;

/**
 * Usage lines of a request are searched from this duration before its start until this duration
 * after its end, because the clocks of the gateway and of Redis may differ.
 */
const USAGE_WINDOW_MS = 60_000;

const webhook = (endpointId: string): string => `/webhooks/${encodeURIComponent(endpointId)}`;
const server = (serverId: string): string => `/servers/${encodeURIComponent(serverId)}`;
const account = (serverId: string, number: string): string =>
  `${server(serverId)}/accounts/${encodeURIComponent(number)}`;

const breach = (serverId: string, number: string, breachId: string): string =>
  `${account(serverId, number)}/breaches/${encodeURIComponent(breachId)}`;

/** A signed document, and its exact bytes. */
export interface LoadedEvidence {
  readonly document: BreachEvidence;
  readonly bytes: Blob;
}

/** Requests of the console. All except `checkSession` throw a `Failure` on error. */
export class ConsoleApi {
  readonly #client: Client;
  readonly people: PeopleApi;
  readonly risk: RiskApi;
  /** The lists about one account. */
  readonly lists: AccountLists;

  constructor(client: Client) {
    this.#client = client;
    this.people = new PeopleApi(client);
    this.risk = new RiskApi(client);
    this.lists = new AccountLists(client);
  }

  /** The session; null if nobody is signed in. */
  async session(): Promise<ConsoleSession | null> {
    try {
      return this.#begin(await this.#client.request("/session", { unauthorizedIsAnswer: true }));
    } catch (error) {
      if (error instanceof Failure && error.status === UNAUTHORIZED) return null;
      throw error;
    }
  }

  /** Checks the session. If the session has ended, `Client` calls its `onSessionEnded` listener. */
  checkSession(): void {
    this.#client.request("/session").catch(() => undefined);
  }

  signOut(): Promise<void> {
    return this.#client.request("/session", { method: "DELETE" });
  }

  /** `code`: of the second factor, if the person has one. */
  async changePassword(currentPassword: string, newPassword: string, code?: string): Promise<ConsoleSession> {
    const body = { currentPassword, newPassword, code };
    return this.#begin(await this.#client.request("/session/password", { method: "PUT", body }));
  }

  overview(signal: AbortSignal): Promise<ConsoleOverview> {
    return this.#client.request("/overview", { signal });
  }

  nearLimits(filter: Readonly<Record<string, string>>, signal: AbortSignal): Promise<NearLimitsAnswer> {
    return this.#client.request(`/near-limits${queryOf(filter)}`, { signal });
  }

  recentBreaches(filter: Readonly<Record<string, string>>, signal: AbortSignal): Promise<RecentBreachesAnswer> {
    return this.#client.request(`/breaches${queryOf(filter)}`, { signal });
  }

  async wallet(signal: AbortSignal): Promise<Wallet> {
    return (await this.#client.request<{ balance: Wallet }>("/credits", { signal })).balance;
  }

  async setLowBalanceThreshold(lowBalanceThreshold: number): Promise<Wallet> {
    const body = { lowBalanceThreshold };
    return (await this.#client.request<{ balance: Wallet }>("/credits/threshold", { method: "PUT", body })).balance;
  }

  usage(page: number, limit: number, signal: AbortSignal): Promise<{ usage: CreditUsage[]; pagination: Pagination }> {
    return this.#client.request(`/credits/usage${queryOf({ page, limit })}`, { signal });
  }

  /**
   * The usage lines of one request. Lines of other times are left out, because a caller may use a
   * request id for several requests. So the line of a command's released credits is left out too,
   * if the command ends more than a minute after its request.
   */
  usageOfRequest(
    { requestId, at, durationMs }: Pick<ConsoleRequest, "requestId" | "at" | "durationMs">,
    page: number,
    limit: number,
    signal: AbortSignal,
  ): Promise<{ usage: CreditUsage[]; pagination: Pagination }> {
    const from = new Date(Date.parse(at) - USAGE_WINDOW_MS).toISOString();
    const to = new Date(Date.parse(at) + durationMs + USAGE_WINDOW_MS).toISOString();
    const query = queryOf({ page, limit, xRequestId: requestId, from, to });
    return this.#client.request(`/credits/usage${query}`, { signal });
  }

  usageByDay(days: number, signal: AbortSignal): Promise<UsageByDayAnswer> {
    return this.#client.request(`/credits/usage-by-day${queryOf({ days })}`, { signal });
  }

  async keys(signal: AbortSignal): Promise<ListedConsoleKey[]> {
    return (await this.#client.request<{ keys: ListedConsoleKey[] }>("/keys", { signal })).keys;
  }

  createKey(body: CreateConsoleKeyBody): Promise<CreatedConsoleKeyAnswer> {
    return this.#client.request("/keys", { method: "POST", body });
  }

  async revokeKey(keyId: string): Promise<void> {
    await this.#client.request(`/keys/${encodeURIComponent(keyId)}`, { method: "DELETE" });
  }

  requests(filter: RequestFilter, signal: AbortSignal): Promise<ConsoleRequestsAnswer> {
    return this.#client.request(`/requests${queryOf(filter)}`, { signal });
  }

  async request(id: string, signal: AbortSignal): Promise<ConsoleRequest> {
    const path = `/requests/${encodeURIComponent(id)}`;
    return (await this.#client.request<{ request: ConsoleRequest }>(path, { signal })).request;
  }

  audit(filter: AuditFilter, limit: number, signal: AbortSignal): Promise<AuditAnswer> {
    return this.#client.request(`/audit${queryOf({ limit, ...filter })}`, { signal });
  }

  /** Path of the entries that match, as CSV. */
  auditCsv({ before: _page, ...filter }: AuditFilter): string {
    return `/audit/export${queryOf({ ...filter })}`;
  }

  scopes(signal: AbortSignal): Promise<ScopesAnswer> {
    return this.#client.request("/scopes", { signal });
  }

  servers(signal: AbortSignal): Promise<ConsoleServersAnswer> {
    return this.#client.request("/servers", { signal });
  }

  async changeServer(serverId: string, body: UpdateConsoleServerBody): Promise<void> {
    await this.#client.request(server(serverId), { method: "PATCH", body });
  }

  accounts(serverId: string, filter: AccountFilter, signal: AbortSignal): Promise<ConsoleAccountsAnswer> {
    return this.#client.request(`${server(serverId)}/accounts${queryOf({ ...filter })}`, { signal });
  }

  /** Path of the accounts that match, as CSV. */
  accountsCsv(serverId: string, filter: AccountFilter): string {
    return `${server(serverId)}/accounts.csv${queryOf(filter)}`;
  }

  async account(serverId: string, accountNumber: string, signal: AbortSignal): Promise<TradingAccount> {
    const answer = await this.#client.request<{ account: TradingAccount }>(account(serverId, accountNumber), {
      signal,
    });
    return answer.account;
  }

  /** URL of the sample stream of an account. */
  liveAddress(serverId: string, accountNumber: string): string {
    return streamAddress(`${account(serverId, accountNumber)}/live`);
  }

  equityHistory(
    serverId: string,
    accountNumber: string,
    range: EquityRange,
    signal: AbortSignal,
  ): Promise<ConsoleEquityHistory> {
    return this.#client.request(`${account(serverId, accountNumber)}/equity-history${queryOf({ range })}`, { signal });
  }

  async riskRules(serverId: string, accountNumber: string, signal: AbortSignal): Promise<AccountRiskRules> {
    const path = `${account(serverId, accountNumber)}/risk-rules`;
    return (await this.#client.request<{ riskRules: AccountRiskRules }>(path, { signal })).riskRules;
  }

  async breach(serverId: string, accountNumber: string, breachId: string, signal: AbortSignal): Promise<RiskBreach> {
    const path = breach(serverId, accountNumber, breachId);
    return (await this.#client.request<{ breach: RiskBreach }>(path, { signal })).breach;
  }

  async evidence(
    serverId: string,
    accountNumber: string,
    breachId: string,
    signal: AbortSignal,
  ): Promise<LoadedEvidence> {
    const bytes = await this.#client.bytes(`${breach(serverId, accountNumber, breachId)}/evidence`, signal);
    return { document: JSON.parse(await bytes.text()) as BreachEvidence, bytes };
  }

  /**
   * Requests an action on an account. The caller passes the same key for every attempt, so that the
   * action is carried out once. Only this answer has the new password of a reset; the command does
   * not.
   */
  act(
    serverId: string,
    accountNumber: string,
    action: AccountAction,
    body: Readonly<Record<string, unknown>> & { readonly idempotencyKey: string },
  ): Promise<CommandEnvelope> {
    return this.#client.request(`${account(serverId, accountNumber)}/actions/${action}`, { method: "POST", body });
  }

  /** The command with this idempotency key; null if command-status does not have the command. */
  async commandOfKey(serverId: string, idempotencyKey: string, signal: AbortSignal): Promise<Command | null> {
    const path = `${server(serverId)}/commands${queryOf({ idempotencyKey, limit: 1 })}`;
    return (await this.#client.request<{ commands: Command[] }>(path, { signal })).commands[0] ?? null;
  }

  /** Names of actors, by their texts `key/<id>` and `user/<id>`; at most 100. */
  async actorNames(actors: readonly string[], signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    const path = `/actors${queryOf({ actors: actors.join(",") })}`;
    return (await this.#client.request<{ names: Record<string, string> }>(path, { signal })).names;
  }

  /**
   * Finds commands by who requested them (`by`: a person, a key or the risk service), by their
   * `amount`, or by both. The other filters are those of `commands`. A page may have fewer commands
   * than `limit`, or more.
   */
  findCommands(serverId: string, filter: CommandFilter, signal: AbortSignal): Promise<FoundCommandsAnswer> {
    return this.#client.request(`${server(serverId)}/commands${queryOf(filter)}`, { signal });
  }

  commands(
    serverId: string,
    filter: CommandFilter,
    signal: AbortSignal,
  ): Promise<{ commands: Command[]; pagination: Pagination }> {
    return this.#client.request(`${server(serverId)}/commands${queryOf({ ...filter })}`, { signal });
  }

  async command(serverId: string, commandId: string, signal: AbortSignal): Promise<Command> {
    const path = `${server(serverId)}/commands/${encodeURIComponent(commandId)}`;
    return (await this.#client.request<{ command: Command }>(path, { signal })).command;
  }

  async webhooks(signal: AbortSignal): Promise<WebhookEndpoint[]> {
    return (await this.#client.request<{ endpoints: WebhookEndpoint[] }>("/webhooks", { signal })).endpoints;
  }

  createWebhook(body: WebhookSettings): Promise<WebhookSecret> {
    return this.#client.request("/webhooks", { method: "POST", body });
  }

  async webhook(endpointId: string, signal: AbortSignal): Promise<WebhookEndpoint> {
    return (await this.#client.request<{ endpoint: WebhookEndpoint }>(webhook(endpointId), { signal })).endpoint;
  }

  async changeWebhook(
    endpointId: string,
    body: WebhookSettings | Pick<WebhookEndpoint, "status">,
  ): Promise<WebhookEndpoint> {
    const options = { method: "PATCH", body } as const;
    return (await this.#client.request<{ endpoint: WebhookEndpoint }>(webhook(endpointId), options)).endpoint;
  }

  async deleteWebhook(endpointId: string): Promise<void> {
    await this.#client.request(webhook(endpointId), { method: "DELETE" });
  }

  rotateWebhookSecret(endpointId: string): Promise<WebhookSecret> {
    return this.#client.request(`${webhook(endpointId)}/rotate-secret`, { method: "POST" });
  }

  async testWebhook(endpointId: string): Promise<void> {
    await this.#client.request(`${webhook(endpointId)}/test`, { method: "POST" });
  }

  /** Replays events; returns their number. */
  async replayWebhook(endpointId: string, since: string): Promise<number> {
    const options = { method: "POST", body: { since } } as const;
    return (await this.#client.request<{ events: number }>(`${webhook(endpointId)}/replay`, options)).events;
  }

  webhookDeliveries(
    endpointId: string,
    filter: DeliveryFilter,
    signal: AbortSignal,
  ): Promise<{ deliveries: WebhookDelivery[]; pagination: Pagination }> {
    return this.#client.request(`${webhook(endpointId)}/deliveries${queryOf({ ...filter })}`, { signal });
  }

  /** An event with its deliveries to all endpoints. */
  async webhookEvent(eventId: string, signal: AbortSignal): Promise<EventDeliveriesAnswer["event"]> {
    const path = `/events/${encodeURIComponent(eventId)}`;
    return (await this.#client.request<EventDeliveriesAnswer>(path, { signal })).event;
  }

  async redeliverWebhook(endpointId: string, deliveryId: string): Promise<void> {
    const path = `${webhook(endpointId)}/deliveries/${encodeURIComponent(deliveryId)}/redeliver`;
    await this.#client.request(path, { method: "POST" });
  }

  search(text: string, signal: AbortSignal): Promise<SearchAnswer> {
    return this.#client.request(`/search${queryOf({ q: text })}`, { signal });
  }

  /** A file that the server streams, such as a list as CSV. */
  download(path: string, signal: AbortSignal, progress: DownloadProgress): Promise<Blob> {
    return this.#client.download(path, signal, progress);
  }

  #begin(session: ConsoleSession): ConsoleSession {
    this.#client.useToken(session.csrfToken);
    return session;
  }
}
