import { randomUUID } from "node:crypto";

import type { TradingEvent } from "@kapi/contracts";
import { createHttpServer } from "@kapi/http";
import { deferred } from "@kapi/kernel";
import { createLogger, Health } from "@kapi/runtime";
import type { Change } from "@kapi/trading-server";
import { beforeEach, describe, expect, it } from "vitest";

import { Bridge } from "./bridge.ts";
import { registerContractRoutes } from "./http/contract-routes.ts";
import { Committer } from "./journal/committer.ts";
import { appliedOutcome } from "./journal/outcomes.ts";
import type { CommitBatch, JournalRow } from "./journal/ports.ts";
import type { ChangeResult, TradingPlatform } from "./platform.ts";

const SERVER_ID = "11111111-1111-4111-8111-111111111111";
const ACCOUNT = "10000001";

/** A journal in memory, and a platform that applies deposits unless a test forbids it. */
class Scenario {
  readonly rows: JournalRow[] = [];
  readonly published: string[] = [];
  readonly applied: string[] = [];
  balanceMinor = 0;
  sequence = 0;
  /** Called before a batch is applied. */
  beforeApply: () => Promise<void> = () => Promise.resolve();
  /** If set, changes are incomplete, with this message. */
  incomplete: string | null = null;
  /** The platform's result for a reference that the journal lacks. */
  foundResult: ChangeResult | null = null;

  readonly journal = {
    write: ({ rows }: CommitBatch) => {
      this.rows.push(...rows);
      return Promise.resolve();
    },
    outcomesOf: (_serverId: string, references: readonly string[]) => {
      const rows = this.rows.filter((row) => row.reference !== null && references.includes(row.reference));
      const outcomeOf = ({ event, outcome }: JournalRow, reference: string): string =>
        event === null ? (outcome ?? "") : appliedOutcome(reference, event);
      return Promise.resolve(
        new Map(rows.map((row) => [row.reference ?? "", outcomeOf(row, row.reference ?? "")] as const)),
      );
    },
    history: (_serverId: string, _account: string, since: number, limit: number) => {
      const events = this.rows.filter((row) => row.event !== null && (row.sequence ?? 0) > since);
      return Promise.resolve(events.slice(0, limit).map((row) => row.event ?? ""));
    },
  };
  readonly committer = new Committer({
    journal: this.journal,
    publisher: {
      events: (events) => this.published.push(...events.map(({ value }) => value)),
      valuations: () => undefined,
    },
    stateText: { account: () => "", server: () => "" },
    lastPosition: 0,
    onStored: () => undefined,
    fatal: (error) => {
      throw error;
    },
  });

  readonly platform: TradingPlatform = {
    isConfigured: (serverId) => serverId === SERVER_ID,
    configure: () => undefined,
    apply: async (_serverId, changes) => {
      await this.beforeApply();
      return changes.map((change) => this.#apply(change));
    },
    findApplied: () => Promise.resolve(this.foundResult),
    snapshot: () => Promise.resolve(null),
    lastSequence: (_serverId, accountNumber) => Promise.resolve(accountNumber === ACCOUNT ? this.sequence : null),
  };

  /** A new bridge, as after a restart: it knows only the journal. */
  start() {
    return new Bridge({ platform: this.platform, committer: this.committer, journal: this.journal });
  }

  #apply(change: Change): ChangeResult {
    this.applied.push(change.reference);
    if (this.incomplete !== null) return { applied: "incomplete", message: this.incomplete };
    if (change.type !== "balance") return { applied: true, event: null };
    if (change.kind === "withdrawal" && change.amountMinor > this.balanceMinor) {
      return { applied: false, code: "INSUFFICIENT_FUNDS", message: "the balance is lower" };
    }
    this.balanceMinor += change.amountMinor;
    return { applied: true, event: this.record(change.reference, change.amountMinor) };
  }

  record(reference: string, amountMinor: number): string {
    this.sequence += 1;
    const event: TradingEvent = {
      eventId: randomUUID(),
      serverId: SERVER_ID,
      accountNumber: ACCOUNT,
      sequence: this.sequence,
      occurredAt: "2026-03-02T12:00:00.000Z",
      reference,
      balanceMinor: this.balanceMinor,
      openPositionCount: 0,
      type: "balance.changed",
      kind: "deposit",
      amountMinor,
      description: null,
    };
    return this.committer.recordEvent(event);
  }
}

function deposit(reference: string, amountMinor = 5) {
  const kind = "deposit";
  return { body: { reference, accountNumber: ACCOUNT, type: "balance", kind, amountMinor, description: null } };
}

function parsed(outcomes: readonly string[]): unknown[] {
  return outcomes.map((text) => JSON.parse(text) as unknown);
}

let scenario: Scenario;
let bridge: ReturnType<Scenario["start"]>;
beforeEach(() => {
  scenario = new Scenario();
  bridge = scenario.start();
});

describe("changes", () => {
  it("are applied once, even if they are repeated in a batch, concurrently, later or after a restart", async () => {
    const batch = [deposit("a"), deposit("b"), deposit("a")];
    const answers = [
      ...(await Promise.all([bridge.change(SERVER_ID, batch), bridge.change(SERVER_ID, batch)])),
      await bridge.change(SERVER_ID.toUpperCase(), batch),
      await scenario.start().change(SERVER_ID, batch),
    ];
    expect(new Set(answers.map((answer) => answer.join())).size).toBe(1);
    expect(scenario.applied).toEqual(["a", "b"]);
    expect(scenario.published).toHaveLength(2);
  });

  it("that are invalid, or are submitted with a rejection, do not reach the platform, and stay rejected", async () => {
    const rejection = { applied: false, code: "ACCOUNT_DISABLED", message: "not now" } as const;
    const batch = [deposit("a", -1), { ...deposit("b"), rejection }, deposit("c")];
    const outcomes = await bridge.change(SERVER_ID, batch);
    expect(parsed(outcomes)).toMatchObject([
      { reference: "a", code: "INVALID_CHANGE" },
      { reference: "b", code: "ACCOUNT_DISABLED" },
      { reference: "c", status: "applied", event: { reference: "c", sequence: 1 } },
    ]);
    expect(await scenario.start().change(SERVER_ID, [deposit("a"), deposit("b")])).toEqual(outcomes.slice(0, 2));
    expect(scenario.applied).toEqual(["c"]);
  });

  it("of a batch whose result is unknown have no outcome, and may be repeated", async () => {
    scenario.beforeApply = () => Promise.reject(new Error("the platform is unavailable"));
    await expect(bridge.change(SERVER_ID, [deposit("a")])).rejects.toThrow("the platform is unavailable");
    expect(scenario.rows).toEqual([]);
    scenario.beforeApply = () => Promise.resolve();
    expect(parsed(await bridge.change(SERVER_ID, [deposit("a")]))).toMatchObject([{ status: "applied" }]);
  });

  it("that were applied before their batch failed keep their outcome", async () => {
    scenario.beforeApply = () => {
      scenario.record("a", 5);
      return Promise.reject(new Error("the platform is unavailable"));
    };
    await expect(bridge.change(SERVER_ID, [deposit("a"), deposit("b")])).rejects.toThrow("the platform is unavailable");
    scenario.beforeApply = () => Promise.resolve();
    expect(parsed(await bridge.change(SERVER_ID, [deposit("a"), deposit("b")]))).toMatchObject([
      { reference: "a", event: { sequence: 1 } },
      { reference: "b", event: { sequence: 2 } },
    ]);
    expect(scenario.applied).toEqual(["b"]);
  });

  it("that are incomplete are applied again when repeated, and keep only their final outcome", async () => {
    const flatten = { body: { reference: "f-1", accountNumber: ACCOUNT, type: "flatten" } };
    scenario.incomplete = "1 remains";
    for (const _try of [1, 2]) {
      expect(parsed(await bridge.change(SERVER_ID, [flatten]))).toEqual([
        { reference: "f-1", status: "incomplete", message: "1 remains" },
      ]);
    }
    scenario.incomplete = null;
    expect(parsed(await bridge.change(SERVER_ID, [flatten]))).toMatchObject([{ status: "applied" }]);
    expect(parsed(await bridge.change(SERVER_ID, [flatten]))).toMatchObject([{ status: "applied" }]);
    expect(scenario.applied).toEqual(["f-1", "f-1", "f-1"]);
  });

  it("of a server that is not configured are 503", async () => {
    await expect(bridge.change(randomUUID(), [deposit("a")])).rejects.toMatchObject({ status: 503 });
  });
});

describe("settling a reference", () => {
  it("waits for its running change, and returns the outcome of the change", async () => {
    const isApplying = deferred<void>();
    const proceed = deferred<void>();
    scenario.beforeApply = () => {
      isApplying.resolve();
      return proceed.promise;
    };
    const changing = bridge.change(SERVER_ID, [deposit("a")]);
    await isApplying.promise;
    const settling = bridge.settle(SERVER_ID, ["a"]);
    proceed.resolve();
    expect(await settling).toEqual(await changing);
    expect(scenario.applied).toEqual(["a"]);
  });

  it("closes the reference if its change was not applied; the change is then never applied", async () => {
    const [closed] = parsed(await bridge.settle(SERVER_ID, ["a"]));
    expect(closed).toEqual({ reference: "a", status: "closed" });
    expect(parsed(await bridge.change(SERVER_ID, [deposit("a")]))).toEqual([closed]);
    expect(parsed(await scenario.start().settle(SERVER_ID, ["a", "a"]))).toEqual([closed, closed]);
    expect(scenario.applied).toEqual([]);
  });

  it("returns the outcome of an applied change that the journal lacks", async () => {
    scenario.foundResult = { applied: true, event: scenario.record("a", 5) };
    expect(parsed(await bridge.settle(SERVER_ID, ["a"]))).toMatchObject([
      { status: "applied", event: { sequence: 1 } },
    ]);
    scenario.foundResult = null;
    expect(parsed(await scenario.start().settle(SERVER_ID, ["a"]))).toMatchObject([{ status: "applied" }]);
  });

  it("makes the rejection of an incomplete change permanent: repeats of the change are rejected too", async () => {
    const flatten = { body: { reference: "f-2", accountNumber: ACCOUNT, type: "flatten" } };
    scenario.incomplete = "1 remains";
    await bridge.change(SERVER_ID, [flatten]);
    scenario.foundResult = { applied: false, code: "ACCOUNT_HAS_OPEN_POSITIONS", message: "1 remains" };
    expect(parsed(await bridge.settle(SERVER_ID, ["f-2"]))).toMatchObject([{ status: "refused" }]);
    scenario.incomplete = null;
    expect(parsed(await bridge.change(SERVER_ID, [flatten]))).toMatchObject([{ status: "refused" }]);
  });
});

it("the history has each event as in the answer to its change, and is null for an account that never existed", async () => {
  const outcomes = await bridge.change(SERVER_ID, [deposit("a"), deposit("b")]);
  const { events, lastSequence } = (await bridge.history(SERVER_ID, ACCOUNT, 1, 10)) ?? { events: [], lastSequence: 0 };
  expect([lastSequence, events.map((event) => appliedOutcome("b", event))]).toEqual([2, outcomes.slice(1)]);
  expect(await bridge.history(SERVER_ID, "nobody", 0, 10)).toBeNull();
});

describe("quotes", () => {
  const AT = "2026-03-02T12:00:00.000Z";

  /** Status and body of the contract's route. */
  async function readQuotes(query: string, serverId = SERVER_ID): Promise<{ status: number; body: unknown }> {
    const app = createHttpServer({ logger: createLogger({ service: "test", level: "silent" }), health: new Health() });
    registerContractRoutes(app, bridge);
    const response = await app.inject(`/v1/servers/${serverId}/quotes?${query}`);
    return { status: response.statusCode, body: response.json() };
  }

  it("are those of the platform at the requested time, for each symbol once", async () => {
    const requests: unknown[] = [];
    scenario.platform.quotes = (...request) => {
      requests.push(request);
      return Promise.resolve([{ symbol: "EURUSD", bid: 1.1, ask: 1.1001, measuredAt: AT }]);
    };
    const answer = await readQuotes(`symbols=EURUSD,S%26P%20500,EURUSD&at=${AT}`, SERVER_ID.toUpperCase());
    const quotes = [{ symbol: "EURUSD", bid: 1.1, ask: 1.1001, measuredAt: AT }];
    expect(answer).toEqual({ status: 200, body: { quotes } });
    expect(requests).toEqual([[SERVER_ID, ["EURUSD", "S&P 500"], Date.parse(AT)]]);
  });

  it("of a platform without quotes are 404", async () => {
    expect(await readQuotes(`symbols=EURUSD&at=${AT}`)).toMatchObject({ status: 404, body: { code: "NOT_FOUND" } });
  });

  it("of a server that is not configured are 503, and of an invalid query 400", async () => {
    expect((await readQuotes(`symbols=EURUSD&at=${AT}`, randomUUID())).status).toBe(503);
    for (const query of [`at=${AT}`, `symbols=&at=${AT}`, "symbols=EURUSD", "symbols=EURUSD&at=now"]) {
      expect((await readQuotes(query)).status).toBe(400);
    }
  });
});
