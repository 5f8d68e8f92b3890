/** A stand-in for the risk service whose breaches and evidence the test chooses. */
import { randomUUID } from "node:crypto";

import {
  cursorPage,
  type EvidenceRecord,
  listScope,
  pageStart,
  RISK_ROUTES,
  type RiskBreach,
  type RiskRule,
} from "@kapi/contracts";
import { buildEvidence, createSigner, type EvidenceClaim, moneyText, publicKeys, toEvidenceRule } from "@kapi/evidence";
import { ApiError, createHttpServer, serve, serveRaw, startListening } from "@kapi/http";
import { createLogger, Health } from "@kapi/runtime";

type Evidence = ReturnType<typeof buildEvidence>;
type Valuation = Extract<EvidenceRecord, { kind: "valuation" }>;
type BreachClaim = Extract<EvidenceClaim, { kind: "breach" }>;

const RING = { currentKeyId: "2026-11", keys: new Map([["2026-11", Buffer.alloc(32, 7)]]) };
/** Seconds of evidence before the breach, and after it. */
const WINDOW_S = 60;
/** Seconds after the breach until all positions are closed. */
const CLOSED_AFTER_S = 24;

export const DAILY: RiskRule = {
  id: "daily",
  type: "dailyLoss",
  limit: { percent: 5 },
  basis: "higher",
  timeZone: "Europe/Prague",
  dayStart: "00:00",
  warnAt: 80,
  action: "flatten_and_disable",
};
export const RULES: readonly RiskRule[] = [
  DAILY,
  { id: "total", type: "maxLoss", limit: { percent: 10 }, trailing: "equity", lockAt: 10_000, action: "disable" },
  { id: "target", type: "profitTarget", target: { amount: 800 }, basis: "balance", action: "notify" },
];

/** A breach, and its evidence as the risk service sends it. */
export interface StoredBreach {
  breach: RiskBreach;
  /** The evidence as JSON. Null if it is pending, or if there is none. */
  document: string | null;
}

export interface RiskService {
  readonly url: string;
  /** The public keys of its evidence. */
  readonly keys: ReturnType<typeof publicKeys>;
  rules: readonly RiskRule[];
  /** Newest first. */
  breaches: StoredBreach[];
  /** Whether it answers every request with an internal error. */
  isFailing: boolean;
  stop(): Promise<void>;
}

/** Starts the stand-in on a free port, with {@link RULES} and without breaches. */
export async function startRiskService(): Promise<RiskService> {
  const app = createHttpServer({ logger: createLogger({ service: "risk", level: "silent" }), health: new Health() });
  const state = { rules: RULES, breaches: [] as StoredBreach[], isFailing: false };
  app.addHook("onRequest", (_request, _reply, done) => {
    done(state.isFailing ? new Error("a fault of the risk service") : undefined);
  });
  const ofAccount = (accountNumber: string): StoredBreach[] =>
    state.breaches.filter(({ breach }) => breach.accountNumber === accountNumber);
  const one = (accountNumber: string, breachId: string): StoredBreach => {
    const found = ofAccount(accountNumber).find(({ breach }) => breach.id === breachId);
    if (found === undefined) throw new ApiError("BREACH_NOT_FOUND");
    return found;
  };
  serve(app, RISK_ROUTES.getRiskRules, ({ params }) => {
    const activeFrom = "2026-11-20T00:00:00.000Z";
    const stored = { version: 4, commandId: randomUUID(), activeFrom, template: null };
    return { riskRules: { ...params, ...stored, rules: [...state.rules] } };
  });
  serve(app, RISK_ROUTES.listRiskBreaches, ({ params, query }) => {
    const all = ofAccount(params.accountNumber).map(({ breach }) => breach);
    const start = pageStart("breaches", query);
    const first = start.after === null ? start.offset : all.findIndex(({ id }) => id === start.after?.[1]) + 1;
    const read = { rows: all.slice(first, first + start.limit + 1), total: all.length };
    const keyOf = ({ measuredAt, id }: RiskBreach): [string, string] => [measuredAt.replace("Z", "000Z"), id];
    const { rows, pagination } = cursorPage("breaches", listScope(params), start, read, keyOf);
    return { breaches: [...rows], pagination };
  });
  serve(app, RISK_ROUTES.getRiskBreach, ({ params }) => ({
    breach: one(params.accountNumber, params.breachId).breach,
  }));
  serve(app, RISK_ROUTES.findRiskBreach, ({ body: { serverIds, breachId } }) => {
    const found = state.breaches.find(({ breach }) => breach.id === breachId && serverIds.includes(breach.serverId));
    return { breach: found?.breach ?? null };
  });
  serveRaw(app, RISK_ROUTES.getBreachEvidence, ({ params }, _request, reply) => {
    const { document, breach } = one(params.accountNumber, params.breachId);
    if (document === null) {
      throw new ApiError(breach.evidence.status === "pending" ? "EVIDENCE_PENDING" : "EVIDENCE_NOT_FOUND");
    }
    return reply.type("application/json; charset=utf-8").send(document);
  });
  const listening = await startListening(app, { host: "127.0.0.1", port: 0 });
  return Object.assign(state, {
    url: listening.value.url,
    keys: publicKeys(RING, []),
    stop: () => listening.stop(),
  });
}

/** A breach of the daily rule, measured at `measuredAt`. `status` is the status of its evidence. */
export function breachOf(
  account: Pick<RiskBreach, "serverId" | "accountNumber">,
  measuredAt: string,
  status: RiskBreach["evidence"]["status"],
): RiskBreach {
  return {
    ...account,
    id: randomUUID(),
    rule: DAILY,
    ruleVersion: 4,
    period: measuredAt.slice(0, 10),
    reference: 10_000,
    threshold: 9_500,
    value: 9_498.6,
    equity: 9_498.6,
    balance: 10_000,
    measuredAt,
    action: DAILY.action,
    commandId: randomUUID(),
    recordedAt: measuredAt,
    evidence: { status, sequence: null, extremeValue: null, extremeAt: null },
  };
}

/**
 * The signed evidence of a breach as JSON, with one valuation a second, from a minute before the
 * breach to a minute after it. `more` replaces fields of the claim.
 */
export function evidenceOf(
  { breach, currency = "USD" }: { readonly breach: RiskBreach; readonly currency?: "USD" },
  more: Partial<BreachClaim> = {},
): string {
  const breachedMs = Date.parse(breach.measuredAt);
  const at = (seconds: number): string => new Date(breachedMs + seconds * 1_000).toISOString();
  const seconds = Array.from({ length: 2 * WINDOW_S + 1 }, (_, index) => index - WINDOW_S);
  const valuations = seconds.map((second, index) => valuationAt(at(second), second, index));
  const samples = seconds.slice(1).map((_, index) => sampleOf(valuations, index + 1));
  const breaching = valuations[WINDOW_S];
  const lowest = valuations
    .slice(WINDOW_S)
    .reduce((one, other) => (Number(other.equity) < Number(one.equity) ? other : one));
  const document: Evidence = buildEvidence(
    {
      kind: "breach",
      organizationId: "0190a5c0-1d2e-7f3a-8b4c-5d6e7f8091a2",
      serverId: breach.serverId,
      accountNumber: breach.accountNumber,
      currency,
      from: at(-WINDOW_S),
      to: at(WINDOW_S),
      missing: [],
      createdAt: at(92),
      rule: toEvidenceRule(breach.rule, breach.ruleVersion, "2026-11-20T00:00:00.000Z"),
      breach: {
        id: breach.id,
        period: breach.period,
        at: breach.measuredAt,
        compared: "equity",
        side: "atOrBelow",
        reference: { value: "10000.00", base: "10000.00", at: "2026-11-25T22:59:58.500Z" },
        threshold: "9500.00",
        value: breaching?.equity ?? "",
        valuationIndex: WINDOW_S,
        extremeValue: lowest.equity,
        extremeAt: lowest.measuredAt,
        sequence: 1_000 + WINDOW_S,
        action: breach.action,
        commandId: breach.commandId,
      },
      positions: [
        position("P-77", "XAUUSD", "buy", "0.5", "2410.35", "2401.62", "-436.50"),
        position("P-78", "EURUSD", "sell", "0.3", "1.08451", "1.08906", "-136.50"),
        position("P-79", `<b>GER40</b>`, "buy", "1", "18420.5", "18435.25", "14.75"),
      ],
      ...more,
    },
    [...valuations, ...samples],
    createSigner(RING),
  );
  return JSON.stringify(document, null, 1);
}

/** The equity falls below the threshold at second 0. It stays constant once no position is open. */
function valuationAt(measuredAt: string, second: number, index: number): Valuation {
  const moving = Math.min(second, CLOSED_AFTER_S);
  const wave = moving === 0 ? 0 : 1_800 * Math.sin(moving / 5);
  const equityMinor = Math.round(949_860 - moving * 210 + (moving < 0 ? Math.max(wave, -100 * -moving) : wave));
  return {
    kind: "valuation",
    partition: 3,
    offset: 1_200 + 7 * index,
    measuredAt,
    recordedAt: measuredAt,
    balance: "10000.00",
    equity: moneyText(second < 0 ? Math.max(equityMinor, 950_010) : equityMinor),
    margin: "1080.00",
    freeMargin: "8000.00",
    openPositionCount: second < CLOSED_AFTER_S ? 3 : 0,
    netDeposits: "0.00",
  };
}

function sampleOf(valuations: readonly Valuation[], index: number): EvidenceRecord {
  const [before, last] = [valuations[index - 1], valuations[index]];
  if (before === undefined || last === undefined)
    throw new RangeError(`sample ${index} needs the valuations ${index - 1} and ${index}`);
  const { measuredAt, balance, equity, margin, freeMargin, openPositionCount, offset } = last;
  return {
    kind: "sample",
    sequence: 1_000 + index,
    from: before.offset,
    to: offset,
    measuredAt,
    balance,
    equity,
    margin,
    freeMargin,
    openPositionCount,
    intervalMinimumEquity: equity,
    intervalMinimumMeasuredAt: measuredAt,
  };
}

function position(
  positionId: string,
  symbol: string,
  side: string,
  volume: string,
  openPrice: string,
  price: string,
  profit: string,
): NonNullable<BreachClaim["positions"]>[number] {
  return { positionId, symbol, side, volume, openPrice, price, profit };
}
