import { randomUUID } from "node:crypto";

import type { RiskRule } from "@kapi/contracts";
import { delay } from "@kapi/kernel";

import type { EnvelopeView } from "../e2e/outside-client.ts";
import type { RandomSource } from "../live/random-source.ts";
import type { Violations } from "../live/violations.ts";
import { type Account, type OperationLog, DUE_MS, type Operation, type OperationKind } from "./operation-log.ts";
import type { Reply } from "./public-api.ts";
import type { Recovery } from "./recovery.ts";
import { randomRules } from "../risk/random-rules.ts";
import { type ClusterHarness, INITIAL_BALANCE, type Organization } from "./cluster-harness.ts";

/** Interval at which the operations that are due are sent. */
const TURN_MS = 20;
/**
 * Maximum number of requests and watches in flight. At the maximum, a due operation is counted as
 * not sent.
 */
const MAX_IN_FLIGHT = 1_000;
/** First pause, if the answer has no Retry-After. */
const FIRST_PAUSE_MS = 500;
/** Upper limit of the pause between two tries, without jitter. */
const MAX_PAUSE_MS = 5_000;
const PAUSE_GROWTH = 1.5;
const MAX_AMOUNT_MINOR = 10_000;
/**
 * Highest limit of a risk rule, in units of currency. An account that trades automatically loses
 * this amount in about a minute.
 */
const MAX_RISK_AMOUNT = 40;
/** Mean time between two moves of prices of one organization. */
const MARKET_PAUSE_MS = 2_000;
/** The largest move of a price, in points. */
const MAX_MOVE_POINTS = 300;
const SYMBOLS = ["EURUSD", "GBPUSD", "AUDUSD", "USDJPY", "XAUUSD"] as const;
/** Longest wait of one read of a command, in seconds. */
const WAIT_S = 10;
const FINAL = new Set(["succeeded", "failed", "expired"]);
/** Cumulative shares of all requests, in percent. */
const SHARES: readonly (readonly [number, OperationKind | "duplicate" | "read"])[] = [
  [42, "deposit"],
  [80, "withdrawal"],
  [83, "rename"],
  [84, "creation"],
  [86, "rule change"],
  [87, "enabling"],
  [92, "duplicate"],
  [100, "read"],
];

export interface WorkloadOptions {
  readonly organizations: readonly Organization[];
  readonly accounts: readonly Account[];
  readonly operationLog: OperationLog;
  readonly recovery: Recovery;
  readonly violations: Violations;
  readonly random: RandomSource;
  readonly moveMarket: ClusterHarness["moveMarket"];
}

/**
 * Sends operations at a rate, and moves prices. Sends each mutation again, with the same key, until
 * the mutation is accepted.
 */
export class Workload {
  readonly #options: WorkloadOptions;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #watched = new Set<Account>();
  #stopping = false;
  #giveUpMs = Infinity;
  /** The rules that were sent last, by account. */
  readonly #rules = new Map<Account, readonly RiskRule[]>();
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: WorkloadOptions) {
    this.#options = options;
  }

  start(rate: number): void {
    this.#running = Promise.all([this.#send(rate), this.#moveMarkets()]);
  }

  /**
   * Sends no new operations. Resolves when nothing is in flight. A mutation that is not accepted
   * within `deadlineMs` is a violation.
   */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    this.#giveUpMs = Date.now() + deadlineMs;
    await this.#running;
    await Promise.all(this.#inFlight);
  }

  async #send(rate: number): Promise<void> {
    const beganMs = performance.now();
    for (let sent = 0; !this.#stopping; await delay(TURN_MS)) {
      const due = Math.floor(((performance.now() - beganMs) * rate) / 1_000);
      for (; sent < due; sent += 1) {
        if (this.#inFlight.size >= MAX_IN_FLIGHT) this.#options.operationLog.counts.notSent += 1;
        else this.#begin(() => this.#one(sent));
      }
    }
  }

  /**
   * Moves prices, so that accounts reach the limits of risk rules. Ignores errors, because a fault
   * can stop the trading server.
   */
  async #moveMarkets(): Promise<void> {
    const { random, organizations, moveMarket } = this.#options;
    while (!this.#stopping) {
      const points = random.whole(-MAX_MOVE_POINTS, MAX_MOVE_POINTS);
      await moveMarket(random.whole(0, organizations.length - 1), random.pick(SYMBOLS), points).catch(() => undefined);
      await delay(random.exponential(MARKET_PAUSE_MS / organizations.length));
    }
  }

  #begin(work: () => Promise<void>): void {
    const running = work()
      .catch((error: unknown) => this.#options.violations.add(`the oracle failed: ${String(error)}`))
      .finally(() => this.#inFlight.delete(running));
    this.#inFlight.add(running);
  }

  async #one(turn: number): Promise<void> {
    const { accounts, random, operationLog } = this.#options;
    const share = random.whole(1, 100);
    const kind = SHARES.find(([upTo]) => share <= upTo)?.[1] ?? "read";
    const isRisk = kind === "rule change" || kind === "enabling";
    const account = isRisk ? random.pick(accounts.filter(({ ruled }) => ruled)) : accounts[turn % accounts.length];
    if (account === undefined) return;
    if (kind === "read") return this.#read(account);
    if (kind === "duplicate") return this.#repeat(account.organization);
    const operation = this.#operation(kind, account);
    operationLog.operations.push(operation);
    this.#options.recovery.sent(operation);
    return this.#carryOut(operation);
  }

  #operation(kind: OperationKind, account: Account): Operation {
    const { random, organizations } = this.#options;
    const organization = organizations[account.organization];
    const amountMinor = random.whole(1, MAX_AMOUNT_MINOR);
    const requestId = randomUUID();
    const base = `/servers/${organization?.serverId}/accounts`;
    const ways = {
      deposit: ["POST", `${base}/${account.number}/finance/deposits`, { amount: amountMinor / 100 }, amountMinor],
      withdrawal: [
        "POST",
        `${base}/${account.number}/finance/withdrawals`,
        { amount: amountMinor / 100 },
        -amountMinor,
      ],
      rename: ["PATCH", `${base}/${account.number}`, { accountName: `Oracle ${amountMinor}` }, 0],
      creation: ["POST", base, { accountName: "Oracle", initialBalance: 0, leverage: 100 }, 0],
      "rule change": ["PUT", `${base}/${account.number}/risk-rules`, { rules: this.#rulesOf(kind, account) }, 0],
      enabling: ["POST", `${base}/${account.number}/enable`, {}, 0],
    } as const;
    const [method, path, body, change] = ways[kind];
    return {
      kind,
      organization: account.organization,
      account: kind === "creation" ? null : account,
      key: randomUUID(),
      method,
      path,
      body: { ...body, requestId },
      amountMinor: change,
      firstSentMs: Date.now(),
      tries: [],
      commandId: null,
      acceptedMs: null,
    };
  }

  /** The next rules of the account; none for an operation of another kind. */
  #rulesOf(kind: OperationKind, account: Account): readonly RiskRule[] {
    if (kind !== "rule change") return [];
    const options = { random: this.#options.random, maxAmount: MAX_RISK_AMOUNT, initialBalance: INITIAL_BALANCE };
    const rules = randomRules(options, this.#rules.get(account));
    this.#rules.set(account, rules);
    return rules;
  }

  async #carryOut(operation: Operation): Promise<void> {
    const { organizations, operationLog, violations } = this.#options;
    for (;;) {
      const reply = await organizations[operation.organization]?.api.call(operation);
      if (reply === undefined) return;
      const { requestId, status, code, tookMs } = reply;
      operation.tries.push({ requestId, status, code, tookMs });
      operationLog.saw(reply, DUE_MS);
      if (status === 200 || status === 202) return this.#accept(operation, reply);
      if (status !== null && status < 500 && status !== 429) {
        return violations.add(`a ${operation.kind} was answered ${status} ${code} (key ${operation.key})`);
      }
      if (Date.now() > this.#giveUpMs) {
        const answers = [...new Set(operation.tries.map((one) => `${one.status ?? "none"} ${one.code}`))].join(", ");
        return violations.add(`a ${operation.kind} was never accepted: ${answers} (key ${operation.key})`);
      }
      await delay(pauseMs(reply, operation.tries.length));
    }
  }

  #accept(operation: Operation, reply: Reply): void {
    const { operationLog, violations, recovery } = this.#options;
    const { command, duplicate, credentials } = reply.body as EnvelopeView;
    const isNew = reply.status === 202;
    const name = `${operation.kind} with key ${operation.key}`;
    if (duplicate === isNew) violations.add(`${name} was answered ${reply.status} with duplicate ${duplicate}`);
    if (!isNew && operation.tries.length === 1) violations.add(`${name} was new, but was answered as a duplicate`);
    if (operation.kind === "creation" && credentials === undefined) {
      const wasLost = operation.tries.some(({ status }) => status === null);
      if (isNew || !wasLost) violations.add(`${name}: no answer had the passwords (${answersOf(operation)})`);
    }
    operationLog.wasAccepted(operation, command.id);
    recovery.accepted(operation);
    const { account } = operation;
    if (account === null || this.#watched.has(account)) return;
    this.#watched.add(account);
    this.#begin(() => this.#watch(operation).finally(() => this.#watched.delete(account)));
  }

  /**
   * Reads the command of an operation until the command is final, or until `stop`. Callers watch
   * only one operation per account at a time.
   */
  async #watch(operation: Operation): Promise<void> {
    const { organizations, operationLog, violations, recovery } = this.#options;
    while (!this.#stopping) {
      const path = `/commands/${operation.commandId}?wait=${WAIT_S}`;
      const reply = await organizations[operation.organization]?.api.call({
        method: "GET",
        path,
        waitMs: WAIT_S * 1_000,
      });
      if (reply === undefined) return;
      operationLog.saw(reply, DUE_MS + WAIT_S * 1_000);
      if (reply.status === 404)
        return violations.add(`command ${operation.commandId} was accepted, but its read was answered 404`);
      const status = reply.status === 200 ? (reply.body as { command: { status: string } }).command.status : "";
      if (FINAL.has(status)) {
        operationLog.completed(operation);
        return recovery.completed(operation);
      }
      if (reply.status !== 200) await delay(reply.retryAfterMs ?? FIRST_PAUSE_MS);
    }
  }

  /** Sends an accepted operation again. The answer must name the same command. */
  async #repeat(organization: number): Promise<void> {
    const { organizations, operationLog, random, violations } = this.#options;
    const earlier = operationLog.ofOrganization(organization);
    if (earlier.length === 0) return;
    const operation = random.pick(earlier);
    const reply = await organizations[organization]?.api.call(operation);
    if (reply === undefined) return;
    operationLog.saw(reply, DUE_MS);
    operationLog.counts.duplicates += 1;
    if (reply.status === null || reply.status >= 500) return;
    const { command, duplicate } = reply.body as Partial<EnvelopeView>;
    if (reply.status !== 200 || duplicate !== true || command?.id !== operation.commandId) {
      violations.add(`key ${operation.key} sent again was answered ${reply.status} for command ${command?.id}`);
    }
  }

  async #read({ organization, number }: Account): Promise<void> {
    const { organizations, operationLog, random, violations } = this.#options;
    const one = organizations[organization];
    if (one === undefined) return;
    const account = `/servers/${one.serverId}/accounts/${number}`;
    const path = random.pick([account, `${account}/transactions?limit=5`, "/credits/balance", "/events?limit=5"]);
    const reply = await one.api.call({ method: "GET", path });
    operationLog.saw(reply, DUE_MS);
    operationLog.counts.reads += 1;
    if (reply.status === 200) operationLog.servedRead ??= reply.requestId;
    else if (reply.status !== null && reply.status >= 500) operationLog.failedReads.add(reply.requestId);
    else if (reply.status !== null) violations.add(`GET ${path} was answered ${reply.status} ${reply.code}`);
  }
}

/**
 * Returns the pause before the next try. The pause starts at the answer's Retry-After or
 * {@link FIRST_PAUSE_MS}, and grows with each try up to {@link MAX_PAUSE_MS}. A random jitter of up
 * to half the pause is added.
 */
function pauseMs({ retryAfterMs }: Reply, tries: number): number {
  const firstMs = retryAfterMs ?? FIRST_PAUSE_MS;
  return Math.min(firstMs * PAUSE_GROWTH ** (tries - 1), MAX_PAUSE_MS) * (1 + Math.random() / 2);
}

function answersOf({ tries }: Operation): string {
  return tries.map(({ status, code }) => `${status ?? "none"} ${code}`.trim()).join(", ");
}
