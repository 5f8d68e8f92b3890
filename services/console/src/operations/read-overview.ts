/** What the overview page shows, read from several services in parallel. */
import {
  type ConsoleOverview,
  OVERVIEW_ROWS,
  type ShownServer,
  type UsageByDayAnswer,
  type WebhookEndpoint,
} from "@kapi/contracts";
import { amountFromMinor, assertDefined, type Clock, minorFromAmount, toIso } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { OverviewSources } from "../domain/overview-sources.ts";
import type { Directory } from "../domain/ports.ts";

/** Maximum wait for one part. The overview is shown without the parts that are later. */
const PART_TIMEOUT_MS = 2_500;
/** For this time, all people of an organization get the same overview. */
const OVERVIEW_TTL_MS = 5_000;
/** Maximum number of organizations whose last overview is kept. */
const MAX_OVERVIEWS = 500;
/** Maximum number of servers whose accounts are ranked at once. */
const CONCURRENT_RANKS = 8;
const DAY_MS = 86_400_000;

type Part<Name extends keyof ConsoleOverview> = Extract<ConsoleOverview[Name], { status: "ok" }>;

interface OverviewDependencies {
  readonly directory: Pick<Directory, "servers">;
  readonly sources: OverviewSources;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Kept {
  readonly atMs: number;
  readonly overview: Promise<ConsoleOverview>;
}

/**
 * The overviews of organizations. An overview is read at most once in {@link OVERVIEW_TTL_MS},
 * unless more than {@link MAX_OVERVIEWS} organizations request theirs in this time.
 */
export class Overviews {
  readonly #dependencies: OverviewDependencies;
  /** Oldest first. */
  readonly #kept = new Map<string, Kept>();

  constructor(dependencies: OverviewDependencies) {
    this.#dependencies = dependencies;
  }

  read(organizationId: string): Promise<ConsoleOverview> {
    const nowMs = this.#dependencies.clock.nowMs();
    const known = this.#kept.get(organizationId);
    if (known !== undefined && Math.abs(nowMs - known.atMs) < OVERVIEW_TTL_MS) return known.overview;
    const overview = readOverview(this.#dependencies, organizationId);
    const kept = { atMs: nowMs, overview };
    this.#kept.delete(organizationId);
    this.#kept.set(organizationId, kept);
    const [oldest = organizationId] = this.#kept.keys();
    if (this.#kept.size > MAX_OVERVIEWS) this.#kept.delete(oldest);
    overview.catch(() => {
      if (this.#kept.get(organizationId) === kept) this.#kept.delete(organizationId);
    });
    return overview;
  }
}

/**
 * Never rejects. If the directory does not answer, the parts that need the list of servers are
 * unavailable; the other parts are read.
 */
async function readOverview(
  { directory, sources, clock, logger }: OverviewDependencies,
  organizationId: string,
): Promise<ConsoleOverview> {
  const nowMs = clock.nowMs();
  // Not awaited here: the parts that do not need the list of servers are read meanwhile.
  const own = directory.servers(organizationId);
  const today = toIso(Math.floor(nowMs / DAY_MS) * DAY_MS);
  const part = <T>(name: string, read: Promise<T>) => inTime(read, name, logger);
  const ofServers = <T>(read: (servers: readonly ShownServer[], serverIds: readonly string[]) => Promise<T>) =>
    own.then(({ servers }) =>
      read(
        servers,
        servers.map(({ serverId }) => serverId),
      ),
    );
  const parts = {
    servers: part(
      "servers",
      ofServers((all) => stateOfServers(sources, all)),
    ),
    equity: part(
      "equity",
      ofServers((all) => equityOf(sources, all)),
    ),
    drawdowns: part(
      "drawdowns",
      ofServers((_all, serverIds) => largestDrawdowns(sources, serverIds)),
    ),
    limits: part(
      "limits",
      ofServers((_all, serverIds) => nearestLimits(sources, serverIds)),
    ),
    breaches: part(
      "breaches",
      ofServers((_all, serverIds) => breachesSince(sources, serverIds, today)),
    ),
    webhooks: part("webhooks", failingEndpoints(sources, organizationId)),
    commands: part("commands", waitingCommands(sources, organizationId)),
    credits: part("credits", creditsLeft(sources, organizationId, nowMs)),
  };
  const known = await part(
    "the list of servers",
    own.then(({ servers, total }) => ({ leftOut: Math.max(total - servers.length, 0) })),
  );
  return {
    readAt: toIso(nowMs),
    isDirectoryAvailable: known.status === "ok",
    serversLeftOut: known.status === "ok" ? known.leftOut : 0,
    servers: await parts.servers,
    equity: await parts.equity,
    drawdowns: await parts.drawdowns,
    limits: await parts.limits,
    breaches: await parts.breaches,
    webhooks: await parts.webhooks,
    commands: await parts.commands,
    credits: await parts.credits,
  };
}

/** A part of the overview; `unavailable` if `read` fails or is too late. Never rejects. */
async function inTime<T>(
  read: Promise<T>,
  name: string,
  logger: Logger,
): Promise<(T & { readonly status: "ok" }) | { readonly status: "unavailable" }> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${PART_TIMEOUT_MS} ms`)), PART_TIMEOUT_MS);
  try {
    return { status: "ok", ...(await Promise.race([read, tooLate])) };
  } catch (error) {
    logger.warn({ err: error, part: name }, "a part of the overview is unavailable");
    return { status: "unavailable" };
  } finally {
    clearTimeout(timer);
  }
}

async function stateOfServers(
  sources: OverviewSources,
  servers: readonly ShownServer[],
): Promise<Omit<Part<"servers">, "status">> {
  const serverIds = servers.map(({ serverId }) => serverId);
  const [counts, checks] = await Promise.all([sources.accountCounts(serverIds), sources.serverChecks(serverIds)]);
  return {
    servers: servers.map(({ serverId, configuration: { serverName, currency } }, index) => ({
      serverId,
      serverName,
      currency,
      accounts: counts[index] ?? {},
      ...(checks[index] ?? { answers: false, answeredAt: null }),
    })),
  };
}

async function equityOf(
  sources: OverviewSources,
  servers: readonly ShownServer[],
): Promise<Omit<Part<"equity">, "status">> {
  const summaries = await sources.equity(servers.map(({ serverId }) => serverId));
  const currencies = new Map(summaries.map((summary, index) => [summary, servers[index]?.configuration.currency]));
  const byCurrency = Map.groupBy(summaries, (summary) => currencies.get(summary));
  return {
    sums: [...byCurrency].flatMap(([currency, all]) => {
      if (currency === undefined) return [];
      const equityMinor = sumOf(all.map(({ equity }) => equity));
      const dayStartMinor = sumOf(all.map(({ dayStartEquity }) => dayStartEquity));
      const minutes = all.flatMap(({ measuredAt }) => measuredAt ?? []).toSorted((a, b) => a.localeCompare(b));
      return [
        {
          currency,
          accounts: all.reduce((sum, { accounts }) => sum + accounts, 0),
          equity: amountFromMinor(equityMinor),
          change: amountFromMinor(equityMinor - dayStartMinor),
          measuredAt: minutes.at(-1) ?? null,
        },
      ];
    }),
  };
}

/** Sums amounts. The sum is in minor units, because sums of fractions are not exact. */
function sumOf(amounts: readonly number[]): number {
  return amounts.reduce(
    (sum, amount) => sum + assertDefined(minorFromAmount(amount), `a whole number of cents for the amount ${amount}`),
    0,
  );
}

async function largestDrawdowns(
  sources: OverviewSources,
  serverIds: readonly string[],
): Promise<Omit<Part<"drawdowns">, "status">> {
  const query = { sort: "-dailyDrawdown", filters: {}, after: null, limit: OVERVIEW_ROWS } as const;
  const waiting = serverIds.values();
  const pages: Part<"drawdowns">["accounts"][] = [];
  // Each chain ranks one server at a time. The chains share the iterator of servers.
  const chain = async (): Promise<void> => {
    for (const serverId of waiting) {
      const { accounts } = await sources.ranks.rank(serverId, query);
      pages.push(
        accounts.flatMap(({ accountNumber, stored }) =>
          stored === null || stored.dailyDrawdown <= 0 ? [] : [{ serverId, accountNumber, stored }],
        ),
      );
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_RANKS }, chain));
  const accounts = pages.flat().toSorted((a, b) => b.stored.dailyDrawdown - a.stored.dailyDrawdown);
  return { accounts: accounts.slice(0, OVERVIEW_ROWS) };
}

async function nearestLimits(
  sources: OverviewSources,
  serverIds: readonly string[],
): Promise<Omit<Part<"limits">, "status">> {
  const { limits } = await sources.nearLimits({
    serverIds: [...serverIds],
    type: null,
    within: null,
    after: null,
    limit: OVERVIEW_ROWS,
  });
  return { limits };
}

async function breachesSince(
  sources: OverviewSources,
  serverIds: readonly string[],
  from: string,
): Promise<Omit<Part<"breaches">, "status">> {
  const { total, breaches } = await sources.recentBreaches(serverIds, from, OVERVIEW_ROWS);
  return { total, breaches };
}

async function failingEndpoints(
  sources: OverviewSources,
  organizationId: string,
): Promise<Omit<Part<"webhooks">, "status">> {
  const endpoints = await sources.webhookEndpoints(organizationId);
  return {
    endpoints: endpoints
      .filter((endpoint) => isFailing(endpoint))
      .map(({ id, url, failingSince, disabledReason }) => ({ id, url, failingSince, disabledReason })),
  };
}

/**
 * Whether deliveries fail, or kapi has disabled the endpoint. Not if its organization disabled it.
 */
function isFailing({ failingSince, status, disabledReason }: WebhookEndpoint): boolean {
  return status === "enabled" ? failingSince !== null : disabledReason !== "owner";
}

async function waitingCommands(
  sources: OverviewSources,
  organizationId: string,
): Promise<Omit<Part<"commands">, "status">> {
  return { servers: [...(await sources.waitingCommands(organizationId))] };
}

async function creditsLeft(
  { credits }: OverviewSources,
  organizationId: string,
  nowMs: number,
): Promise<Omit<Part<"credits">, "status">> {
  const [wallet, usage] = await Promise.all([
    credits.balance(organizationId),
    credits.usageByDay(organizationId, RATE_DAYS),
  ]);
  const perDay = creditsPerDay(JSON.parse(usage.toString("utf8")) as UsageByDayAnswer, nowMs);
  const daysLeft = perDay <= 0 ? null : Math.floor((wallet.availableCredits / perDay) * 10) / 10;
  return { available: wallet.availableCredits, lowBalance: wallet.lowBalance, perDay, daysLeft };
}

/** Number of days for the rate: yesterday and today. */
const RATE_DAYS = 2;

/**
 * The credits of about the last 24 hours: the credits of today, and a part of yesterday's credits.
 * The part is the fraction of today that is still to come.
 */
export function creditsPerDay({ days }: UsageByDayAnswer, nowMs: number): number {
  const creditsOf = (day: UsageByDayAnswer["days"][number] | undefined): number =>
    (day?.operations ?? []).reduce((sum, { credits }) => sum + credits, 0);
  const [yesterday, today] = days.slice(-RATE_DAYS);
  const missing = 1 - (nowMs % DAY_MS) / DAY_MS;
  return Math.round(creditsOf(today) + creditsOf(yesterday) * missing);
}
