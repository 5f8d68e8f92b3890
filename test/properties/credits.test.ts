/**
 * A wallet cannot drift. The test sends requests of all kinds and kills a gateway or the
 * organization service, or empties Redis. Afterwards Redis, PostgreSQL and the credit ledger
 * entries give the same wallet. The usage lines match the responses (`expectEveryLine`).
 *
 * There are two exceptions. A line may be missing if its usage entry was lost when Redis was
 * emptied; the test records these entries. The lines of a request are uncertain if the request got
 * no response, got 5xx or was running while Redis was emptied. Such a request is never charged too
 * much.
 */
import { randomUUID } from "node:crypto";

import { delay } from "@kapi/kernel";
import { createOrganization } from "@kapi/local";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { eventually } from "@kapi/testkit";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";

import { inFlight } from "../e2e/in-flight.ts";
import { OutsideClient } from "../e2e/outside-client.ts";
import { CreditReconciliation, type Line, type LostEntry } from "./credit-reconciliation.ts";
import { CREATION, KINDS, type Kind, send, type Outcome, type CreditRequest, requestOf } from "./credit-requests.ts";
import { expectEveryLine } from "./every-line.ts";
import { bounded } from "./settings.ts";

/** Number of scenarios; each takes about 20 s. `CREDIT_SCENARIOS` overrides the number. */
const SCENARIOS = Number(process.env["CREDIT_SCENARIOS"] ?? 2);
const MS_PER_SCENARIO = 150_000;
const AT_ONCE = 12;
const ACCOUNTS = 2;
/** Enough for the accounts of a scenario. Later the credits do not suffice in some scenarios. */
const MIN_CREDITS = 120;
const MAX_CREDITS = 900;
const MAX_BOUGHT = 300;
/** Time limit of the retries of one request. */
const DEADLINE_MS = 60_000;
const RETRY_PAUSE_MS = 150;
const SETTLED_MS = 60_000;

const DISTURBANCES = [
  "none",
  "gateway",
  "gateway-2",
  "organization",
  "flush",
  "flush",
  "flush and organization",
] as const;
type Disturbance = (typeof DISTURBANCES)[number];

const burst = fc.record({
  requests: fc.array(fc.record({ kind: fc.constantFrom(...KINDS), gateway: fc.nat({ max: 1 }), pick: fc.nat() }), {
    minLength: 20,
    maxLength: 50,
    size: "max",
  }),
  disturbance: fc.constantFrom(...DISTURBANCES),
  afterMs: fc.nat({ max: 250 }),
  bought: fc.option(fc.integer({ min: 1, max: MAX_BOUGHT })),
});
const scenario = fc.record({
  credits: fc.integer({ min: MIN_CREDITS, max: MAX_CREDITS }),
  bursts: fc.array(burst, { minLength: 3, maxLength: 5, size: "max" }),
});
type Burst = typeof burst extends fc.Arbitrary<infer B> ? B : never;

let stack: TestStack;
let reconciliation: CreditReconciliation;

beforeAll(async () => {
  // A short session timeout: no process reads the partitions of a killed process until its session
  // times out.
  stack = await startTestStack({
    twice: ["gateway"],
    env: { all: { KAFKA_SESSION_TIMEOUT_MS: "6000", QUOTES_FILE: "" } },
  });
  reconciliation = await CreditReconciliation.open(stack.servers);
});

afterAll(async () => {
  await reconciliation.close();
  await stack.stop();
});

/** One organization, the outcomes of its requests, and the usage entries that Redis lost. */
class Scenario {
  readonly organizationId: string;
  readonly serverId: string;
  readonly clients: readonly [OutsideClient, OutsideClient];
  readonly outcomes: Outcome[] = [];
  readonly lost: LostEntry[] = [];
  readonly flushedMs: number[] = [];
  readonly accounts: string[] = [];
  readonly #before = new Set<string>();
  bought: number;

  constructor(made: { organizationId: string; serverId: string; managementKey: string }, credits: number) {
    const { wsBase, tradingServerUrl, baseUrl } = stack;
    const at = (url: string): OutsideClient => new OutsideClient({ baseUrl: url, wsBase, tradingServerUrl, ...made });
    this.clients = [at(baseUrl), at(stack.process("gateway-2").url)];
    this.organizationId = made.organizationId;
    this.serverId = made.serverId;
    this.bought = credits;
  }

  /**
   * Opens the accounts of the scenario. Remembers all usage lines so far, because later checks skip
   * these lines.
   */
  async begin(): Promise<void> {
    const [client] = this.clients;
    await eventually(async () => (await client.call("GET", "/credits/balance")).status === 200, {
      timeoutMs: DEADLINE_MS,
    });
    for (let index = 0; index < ACCOUNTS; index += 1) {
      const { body } = await client.createAccount({ ...CREATION, requestId: "credits" });
      const { result } = await client.succeeded(body.command.id);
      this.accounts.push(String(result?.["accountNumber"]));
    }
    await eventually(async () => {
      expect(await reconciliation.underWay()).toBe(0);
      expect((await reconciliation.of(this.organizationId)).kept.reserved).toBe(0);
    });
    for (const { chargeId } of await reconciliation.lines(this.organizationId)) this.#before.add(chargeId);
  }

  /** The usage lines of the requests since the scenario began. */
  async lines(): Promise<Line[]> {
    return (await reconciliation.lines(this.organizationId)).filter(({ chargeId }) => !this.#before.has(chargeId));
  }

  /**
   * Sends the requests of a burst. Meanwhile, the disturbance begins after `afterMs`, and the
   * credits `bought` are purchased.
   */
  async run({ requests, disturbance, afterMs, bought }: Burst): Promise<void> {
    const disturbed = delay(afterMs).then(() => this.#disturb(disturbance));
    const sent = inFlight(requests.length, AT_ONCE, async (index) => {
      const request = requests[index];
      if (request) await this.#request(request.kind, request.gateway, request.pick);
    });
    await Promise.all([disturbed, sent, bought === null ? null : this.#buy(bought)]);
  }

  async #request(kind: Kind, gateway: number, pick: number): Promise<void> {
    // `earlier` has only requests with response 202: their idempotency key is certainly in use.
    // After any other response, the test does not know whether a request was queued with the key.
    const earlier = this.outcomes.filter(({ request, queued }) => request.key !== undefined && queued.length > 0);
    const request = requestOf(kind, {
      serverId: this.serverId,
      account: this.accounts[pick % ACCOUNTS] ?? "",
      earlier: earlier[pick % Math.max(1, earlier.length)]?.request,
    });
    // A request with an idempotency key is sent again after no response, 401 or 5xx. Other requests
    // are sent once.
    if (request.key === undefined) await this.#send(request, gateway);
    else await this.#sendUntilFinal(request, gateway);
  }

  async #send(request: CreditRequest, gateway: number): Promise<Outcome> {
    const outcome = await send(this.clients[gateway] ?? this.clients[0], request);
    this.outcomes.push(outcome);
    return outcome;
  }

  async #sendUntilFinal(request: CreditRequest, gateway: number): Promise<Outcome> {
    const untilMs = Date.now() + DEADLINE_MS;
    for (let attempt = gateway; ; attempt += 1) {
      const outcome = await this.#send(request, attempt % 2);
      // 401: the gateway has just started, or does not know the new management key yet.
      if (outcome.status !== null && outcome.status < 500 && outcome.status !== 401) return outcome;
      if (Date.now() > untilMs) throw new Error(`${request.operation} is still answered ${outcome.status}`);
      await delay(RETRY_PAUSE_MS);
    }
  }

  async #buy(credits: number): Promise<void> {
    const purchaseId = randomUUID();
    await eventually(
      async () => {
        const response = await fetch(
          `${stack.url("organization")}/internal/organizations/${this.organizationId}/credits`,
          {
            method: "POST",
            headers: { "content-type": "application/json", "x-service-token": stack.secrets.serviceTokens.operator },
            body: JSON.stringify({ credits, purchaseId }),
          },
        );
        return response.ok;
      },
      { timeoutMs: DEADLINE_MS, intervalMs: RETRY_PAUSE_MS },
    );
    this.bought += credits;
  }

  async #disturb(disturbance: Disturbance): Promise<void> {
    const [first, second] = disturbance.split(" and ");
    await Promise.all([this.#disturbProcess(first), this.#disturbProcess(second)]);
  }

  async #disturbProcess(disturbance: string | undefined): Promise<void> {
    if (disturbance === undefined || disturbance === "none") return;
    if (disturbance === "flush") {
      this.flushedMs.push(Date.now());
      this.lost.push(...(await reconciliation.flushAll()));
      this.flushedMs.push(Date.now());
      return;
    }
    const process = stack.process(disturbance);
    process.kill("SIGKILL");
    await process.ended();
    await process.start();
  }
}

/**
 * Waits until no usage entry is pending, no credit is reserved, and all sums agree: of the wallets
 * in Redis and PostgreSQL, the credit ledger entries, the usage lines and the usage days.
 */
async function expectSameWallet(scenario: Scenario): Promise<void> {
  await eventually(
    async () => {
      expect(await reconciliation.underWay()).toBe(0);
      const { redis, kept, derived, linesSum, daysSum } = await reconciliation.of(scenario.organizationId);
      expect(redis).toEqual(kept);
      expect(derived).toEqual(kept);
      expect(kept.purchased).toBe(scenario.bought);
      expect(kept.available + kept.reserved + kept.consumed).toBe(kept.purchased);
      expect(linesSum).toBe(kept.consumed + kept.reserved);
      expect(daysSum).toBe(linesSum);
      // Every command is final, so no credit is reserved.
      expect(kept.reserved).toBe(0);
    },
    { timeoutMs: SETTLED_MS, intervalMs: 200 },
  );
}

it(
  "Redis, PostgreSQL and the credit ledger entries give the same wallet, and the usage lines match the responses",
  { timeout: SCENARIOS * MS_PER_SCENARIO },
  async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async ({ credits, bursts }) => {
        const played = new Scenario(await createOrganization(stack, { name: "Scenario", credits }), credits);
        await played.begin();
        for (const burst of bursts) await played.run(burst);
        await expectSameWallet(played);
        expectEveryLine(played, await played.lines());
      }),
      bounded(SCENARIOS),
    );
  },
);
