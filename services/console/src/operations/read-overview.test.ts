import type { ShownServer } from "@kapi/contracts";
import { createLogger } from "@kapi/runtime";
import { TestClock } from "@kapi/testkit";
import { expect, it } from "vitest";

import type { OverviewSources } from "../domain/overview-sources.ts";
import type { Directory, ServerList } from "../domain/ports.ts";
import { creditsPerDay, Overviews } from "./read-overview.ts";

const NOW_MS = Date.parse("2026-11-27T06:00:00.000Z");
const STORED = {
  equity: 90,
  balance: 100,
  dayStartEquity: 95,
  dayChange: -5,
  totalDrawdown: 10,
  measuredAt: "2026-11-27T05:59:00.000Z",
};

function usage(day: string, credits: number) {
  return { day, operations: [{ operation: "getTradingAccount", requests: credits, credits }] };
}

it("the rate of credits is that of about the last 24 hours", () => {
  const days = [usage("2026-11-26", 240), usage("2026-11-27", 50)];
  expect(creditsPerDay({ days }, NOW_MS)).toBe(50 + 180);
  expect(creditsPerDay({ days }, Date.parse("2026-11-27T00:00:00.000Z"))).toBe(50 + 240);
  expect(creditsPerDay({ days: [] }, 0)).toBe(0);
});

/** The first servers of an organization that has `total` servers. */
function serverList(length: number, total = length): () => Promise<ServerList> {
  const configuration = { serverName: "Demo", currency: "USD" };
  const servers = Array.from({ length }, (_, index) => ({ serverId: String(index + 1), configuration }));
  return () => Promise.resolve({ servers: servers as unknown as ShownServer[], total });
}

/** Overviews of an organization whose servers are read by `servers`. */
function overviews(servers: Directory["servers"]) {
  const ranking = { now: 0, most: 0 };
  const sources = {
    accountCounts: (ids: readonly string[]) => Promise.resolve(ids.map(() => ({ active: 2 }))),
    serverChecks: (ids: readonly string[]) => Promise.resolve(ids.map(() => ({ answers: true, answeredAt: null }))),
    equity: (ids: readonly string[]) =>
      Promise.resolve(ids.map(() => ({ accounts: 1, equity: 0.1, dayStartEquity: 0, measuredAt: null }))),
    ranks: {
      rank: async (serverId: string) => {
        ranking.now += 1;
        ranking.most = Math.max(ranking.most, ranking.now);
        await Promise.resolve();
        ranking.now -= 1;
        const stored = { ...STORED, dailyDrawdown: Number(serverId) };
        return { accounts: [{ accountNumber: "1001", value: "", stored }], total: 1 };
      },
    },
    nearLimits: () => Promise.resolve({ limits: [], total: 0 }),
    recentBreaches: () => Promise.resolve({ total: 0, breaches: [], next: null }),
    webhookEndpoints: () => Promise.resolve([]),
    waitingCommands: () => Promise.resolve([]),
    credits: {
      balance: () => Promise.resolve({ availableCredits: 7, lowBalance: false }),
      usageByDay: () => Promise.resolve(Buffer.from(JSON.stringify({ days: [] }))),
    },
  } as unknown as OverviewSources;
  const logger = createLogger({ service: "test", level: "silent" });
  return { ranking, read: new Overviews({ directory: { servers }, sources, clock: new TestClock(NOW_MS), logger }) };
}

it("the overview says that the list of servers is unavailable, and shows the parts that do not need it", async () => {
  const { read } = overviews(() => Promise.reject(new Error("organization is unavailable")));
  const overview = await read.read("one");
  expect(overview).toMatchObject({
    isDirectoryAvailable: false,
    serversLeftOut: 0,
    servers: { status: "unavailable" },
    equity: { status: "unavailable" },
    drawdowns: { status: "unavailable" },
    limits: { status: "unavailable" },
    breaches: { status: "unavailable" },
    webhooks: { status: "ok" },
    commands: { status: "ok" },
    credits: { status: "ok", available: 7 },
  });
});

it("the overview shows all of 150 servers, and ranks the accounts of 8 servers at a time", async () => {
  const { read, ranking } = overviews(serverList(150));
  const overview = await read.read("one");
  expect(overview).toMatchObject({ isDirectoryAvailable: true, serversLeftOut: 0, servers: { status: "ok" } });
  expect(overview.equity).toMatchObject({ sums: [{ currency: "USD", accounts: 150, equity: 15 }] });
  const drawdowns = overview.drawdowns.status === "ok" ? overview.drawdowns.accounts : [];
  expect(drawdowns.map(({ serverId }) => serverId).slice(0, 3)).toEqual(["150", "149", "148"]);
  expect(ranking.most).toBe(8);
});

it("the overview says how many servers the directory left out", async () => {
  const { read } = overviews(serverList(150, 153));
  expect(await read.read("one")).toMatchObject({ isDirectoryAvailable: true, serversLeftOut: 3 });
});
