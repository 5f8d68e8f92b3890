/** Evidence of breaches and of intervals, from valuations and samples in a real Kafka. */
import { randomUUID } from "node:crypto";

import { parseEvidenceKeys, verifyEvidence } from "@kapi/client";
import {
  accountKey,
  CommandEvent,
  pathOf,
  RISK_ROUTES,
  RiskEvent,
  type RiskRule,
  TOPICS,
  type TopicContract,
} from "@kapi/contracts";
import { callRoute, callRouteRaw, type InternalClient } from "@kapi/http";
import { createKafka, type KafkaConnection, type Producer, startLogReader, startProducer } from "@kapi/kafka";
import { toIso } from "@kapi/kernel";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { createLogger, Scope } from "@kapi/runtime";
import {
  anyAccountNumber,
  commandMessage,
  createTestEnvironment,
  eventually,
  startOwnerClient,
  valuation,
} from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { startAccountServer } from "./account-server.ts";
import {
  BREACHING,
  EQUITIES,
  INITIAL_MINOR,
  LOWEST,
  VALUATIONS_PER_SAMPLE,
  writeSamples,
  writeValuations,
} from "./written-log.ts";

/** Age of valuation `BREACHING` when it is written. Evidence is due 75 s after a breach. */
const BREACH_AGE_MS = 80_000;
const TIMEOUT_MS = 60_000;
const RULE: RiskRule = {
  id: "daily",
  type: "dailyLoss",
  limit: { percent: 5 },
  basis: "equity",
  timeZone: "UTC",
  dayStart: "00:00",
  action: "disable",
};

const scope = new Scope({ stopDeadlineMs: 30_000 });
const logger = createLogger({ service: "test", level: "silent" });
const serverId = randomUUID();
const organizationId = randomUUID();
const startMs = (breachAgeMs = BREACH_AGE_MS): number => Date.now() - breachAgeMs - BREACHING * 1_000;
let kafka: KafkaConnection;
let producer: Producer;
let stack: TestStack;
let risk: InternalClient;
/** What the account service waits for before it returns positions. */
let beforePositions: () => Promise<void> = () => Promise.resolve();
/** After this time the accounts have no open position. */
let flatFrom = "9999";

beforeAll(async () => {
  const environment = await createTestEnvironment({ partitions: 2, needs: ["kafka", "postgres", "redis"] });
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  const measuredAt = toIso(startMs() - 3_600_000);
  const accounts = await startAccountServer({
    initialBalanceMinor: INITIAL_MINOR,
    valuationOf: (server, accountNumber) => ({
      ...valuation({ serverId: server, accountNumber, measuredAt, balanceMinor: INITIAL_MINOR }),
      netDepositsMinor: 0,
    }),
    organizationId,
    positions: async (at) => {
      await beforePositions();
      if (at > flatFrom) return [];
      const position = { id: "7001", orderId: "1", side: "buy", volume: 0.5, closedVolume: 0.2, openPrice: 2_410.35 };
      return [{ ...position, symbol: "XAUUSD", openedAt: measuredAt }];
    },
    quotes: [{ symbol: "XAUUSD", bid: 2_399.95, ask: 2_400.15, measuredAt }],
  });
  await scope.start("accounts", () => ({ value: null, stop: () => accounts.stop() }));
  kafka = createKafka({
    brokers: environment.kafkaBrokers.split(","),
    clientId: "test",
    topicPrefix: environment.topicPrefix,
    logger,
  });
  producer = await scope.start("producer", () => startProducer(kafka));
  stack = await scope.start("risk", async () => {
    const env = { all: { ACCOUNT_URL: accounts.url, CHECKPOINT_INTERVAL_MS: "300", KAFKA_SESSION_TIMEOUT_MS: "3000" } };
    const value = await startTestStack({ services: ["risk"], environment, env });
    return { value, stop: () => value.stop() };
  });
  risk = await scope.start("risk client", () =>
    startOwnerClient({ secrets: stack.secrets, owner: "risk", baseUrl: stack.url("risk"), timeoutMs: 15_000 }),
  );
});

afterAll(() => scope.stop());

async function readAll<T>(topic: TopicContract, parse: (value: unknown) => T): Promise<T[]> {
  const all: T[] = [];
  const reader = await startLogReader(kafka, {
    topic,
    from: "beginning",
    onBatch: (_partition, messages) => {
      for (const { value } of messages) all.push(parse(JSON.parse(value.toString("utf8"))));
    },
    logger,
    fatal: (error) => {
      throw error;
    },
  });
  await reader.value.caughtUp;
  await reader.stop();
  return all;
}

/** Sets the rule, with this limit; resolves when it is active. */
async function setRules(accountNumber: string, limit: { percent: number } = { percent: 5 }): Promise<void> {
  const message = commandMessage({
    serverId,
    organizationId,
    accountNumber,
    operation: "risk.set_rules",
    payload: { rules: [{ ...RULE, limit }] },
  });
  await producer.send(TOPICS.commandsRisk, {
    key: accountKey(serverId, accountNumber),
    value: JSON.stringify(message),
  });
  await eventually(async () => {
    const events = await readAll(TOPICS.commandEvents, (value) => CommandEvent.parse(value));
    const statuses = events.filter(({ commandId }) => commandId === message.commandId).map(({ status }) => status);
    expect(statuses).toContain("succeeded");
  });
}

/** The id of the account's only breach, as soon as it is recorded. */
function breachOf(accountNumber: string): Promise<string> {
  return eventually(async () => {
    const [breach, ...more] = await breachesOf(accountNumber);
    expect(more).toEqual([]);
    expect(breach).toBeDefined();
    return breach?.id ?? "";
  });
}

async function breachesOf(accountNumber: string) {
  const request = { params: { serverId, accountNumber }, query: {} };
  return (await callRoute(risk, RISK_ROUTES.listRiskBreaches, request)).breaches;
}

/** The `risk.evidence_stored` events of a breach. */
async function storedEvents(breachId: string) {
  const events = await readAll(TOPICS.riskEvents, (value) => RiskEvent.parse(value));
  return events.flatMap((event) =>
    event.type === "risk.evidence_stored" && event.breach.id === breachId ? [event] : [],
  );
}

function readEvidence(accountNumber: string, breachId: string) {
  return callRouteRaw(risk, RISK_ROUTES.getBreachEvidence, { params: { serverId, accountNumber, breachId } });
}

/** Waits for the document of a breach; it must be signed, unchanged and without contradictions. */
async function verifiedEvidence(accountNumber: string, breachId: string) {
  const { body } = await eventually(
    async () => {
      const answer = await readEvidence(accountNumber, breachId);
      expect(answer.status).toBe(200);
      return answer;
    },
    { timeoutMs: TIMEOUT_MS, intervalMs: 300 },
  );
  return verified(body);
}

async function verified(body: Buffer) {
  const keys = await callRoute(risk, RISK_ROUTES.getEvidenceKeys, {});
  const result = verifyEvidence(body, parseEvidenceKeys(JSON.stringify(keys)));
  if (result.status !== "verified") throw new Error(JSON.stringify(result));
  return result.document;
}

describe("evidence of a breach", () => {
  it(
    "has every valuation and accepted sample around it, the lowest equity, and the positions with their prices",
    async () => {
      const accountNumber = anyAccountNumber();
      await setRules(accountNumber);
      const logged = await writeValuations({ producer, serverId }, accountNumber, startMs(70_000));
      await writeSamples({ producer, serverId }, logged);
      const breachId = await breachOf(accountNumber);

      const early = await readEvidence(accountNumber, breachId);
      expect([early.status, early.headers["x-error-code"]]).toEqual([409, "EVIDENCE_PENDING"]);
      expect(Number(early.headers["retry-after"])).toBeGreaterThan(0);

      const document = await verifiedEvidence(accountNumber, breachId);
      if (document.kind !== "breach") throw new TypeError(document.kind);
      expect(document).toMatchObject({ organizationId, serverId, accountNumber, currency: "USD", missing: [] });
      const valuations = document.records.flatMap((record) => (record.kind === "valuation" ? [record] : []));
      const offsets = valuations.map(({ partition, offset }) => [partition, offset]);
      expect(offsets).toEqual(logged.map(({ partition, offset }) => [partition, offset]));
      const sequences = document.records.flatMap((record) => (record.kind === "sample" ? [record.sequence] : []));
      expect(sequences).toEqual([1, 2, 3, 4]);
      expect(document.breach).toMatchObject({
        id: breachId,
        at: logged[BREACHING]?.valuation.measuredAt,
        threshold: "9500.00",
        value: "9500.00",
        reference: { value: "10000.00" },
        valuationIndex: BREACHING,
        extremeValue: "9388.40",
        extremeAt: logged[LOWEST]?.valuation.measuredAt,
        sequence: 2,
        action: "disable",
      });
      expect(document.positions).toEqual([
        {
          positionId: "7001",
          symbol: "XAUUSD",
          side: "buy",
          volume: "0.3",
          openPrice: "2410.35",
          price: "2399.95",
          profit: null,
        },
      ]);

      const evidence = {
        status: "stored",
        sequence: 2,
        extremeValue: 9_388.4,
        extremeAt: logged[LOWEST]?.valuation.measuredAt,
      };
      const listed = await breachesOf(accountNumber);
      expect(listed).toMatchObject([{ id: breachId, evidence }]);
      const read = await callRoute(risk, RISK_ROUTES.getRiskBreach, { params: { serverId, accountNumber, breachId } });
      expect(read.breach).toEqual(listed[0]);
      const findOn = (serverIds: readonly string[]) =>
        callRoute(risk, RISK_ROUTES.findRiskBreach, { body: { serverIds, breachId } });
      expect((await findOn([randomUUID(), serverId])).breach).toEqual(listed[0]);
      expect((await findOn([randomUUID()])).breach).toBeNull();
      const elsewhere = { params: { serverId, accountNumber: anyAccountNumber(), breachId } };
      for (const route of [RISK_ROUTES.getRiskBreach, RISK_ROUTES.getBreachEvidence]) {
        const { status, headers } = await callRouteRaw(risk, route, elsewhere);
        expect([status, headers["x-error-code"]]).toEqual([404, "BREACH_NOT_FOUND"]);
      }
      await eventually(async () => {
        expect(await storedEvents(breachId)).toMatchObject([{ organizationId, accountNumber, breach: { evidence } }]);
      });
    },
    TIMEOUT_MS,
  );

  it(
    "is stored once and with the positions at the breach, although the process is killed while collecting them",
    async () => {
      const accountNumber = anyAccountNumber();
      const [held, collecting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      beforePositions = () => {
        collecting.resolve();
        return held.promise;
      };
      // The account has no positions after the breach, as if an action had closed them.
      const firstMs = startMs();
      flatFrom = toIso(firstMs + BREACHING * 1_000);
      await setRules(accountNumber);
      await writeSamples({ producer, serverId }, await writeValuations({ producer, serverId }, accountNumber, firstMs));
      const breachId = await breachOf(accountNumber);
      await collecting.promise;
      const process = stack.process("risk");
      process.kill("SIGKILL");
      await process.ended();
      beforePositions = () => Promise.resolve();
      held.resolve();
      await process.restart();
      const document = await verifiedEvidence(accountNumber, breachId);
      flatFrom = "9999";
      expect(document).toMatchObject({ missing: [], positions: [{ positionId: "7001" }] });
      await eventually(async () => expect(await storedEvents(breachId)).toHaveLength(1));
    },
    TIMEOUT_MS,
  );

  it(
    "waits for samples and positions that are late",
    async () => {
      const accountNumber = anyAccountNumber();
      let asked = 0;
      beforePositions = () => {
        asked += 1;
        // The first call gets no answer: its connection stays open until the caller gives up.
        return asked === 1 ? new Promise(() => undefined) : Promise.resolve();
      };
      await setRules(accountNumber);
      const logged = await writeValuations({ producer, serverId }, accountNumber, startMs());
      const breachId = await breachOf(accountNumber);
      await writeSamples({ producer, serverId }, logged.slice(0, VALUATIONS_PER_SAMPLE * 2));
      await eventually(
        async () => {
          const { headers } = await readEvidence(accountNumber, breachId);
          // Until the evidence is due, Retry-After is at most 10 seconds. It is more only after the
          // collection was postponed.
          expect(Number(headers["retry-after"])).toBeGreaterThan(11);
        },
        { timeoutMs: TIMEOUT_MS, intervalMs: 100 },
      );
      await writeSamples({ producer, serverId }, logged);
      const document = await verifiedEvidence(accountNumber, breachId);
      expect(document.missing).toEqual([]);
      expect(asked).toBe(2);
    },
    TIMEOUT_MS,
  );

  it(
    "names the valuation that breaches new rules, although it was measured before they were set",
    async () => {
      const accountNumber = anyAccountNumber();
      await setRules(accountNumber, { percent: 50 });
      const logged = await writeValuations({ producer, serverId }, accountNumber, startMs());
      await writeSamples({ producer, serverId }, logged);
      await setRules(accountNumber, { percent: 4 });
      const document = await verifiedEvidence(accountNumber, await breachOf(accountNumber));
      const last = logged.length - 1;
      const { measuredAt } = logged[last]?.valuation ?? {};
      // Earlier valuations are beyond the new limit too, but only the newest one was compared.
      expect(document).toMatchObject({
        breach: { valuationIndex: last, value: "9520.00", at: measuredAt, sequence: 4 },
        rule: { activeFrom: measuredAt },
      });
    },
    TIMEOUT_MS,
  );

  it("is not found for an unknown breach", async () => {
    const answer = await readEvidence(anyAccountNumber(), randomUUID());
    expect([answer.status, answer.headers["x-error-code"]]).toEqual([404, "BREACH_NOT_FOUND"]);
  });
});

describe("evidence of an interval", () => {
  const read = (accountNumber: string, from: string, to: string) =>
    callRouteRaw(risk, RISK_ROUTES.getIntervalEvidence, { params: { serverId, accountNumber }, query: { from, to } });

  it("has the valuations that were measured in the interval, both ends included, and their samples", async () => {
    const accountNumber = anyAccountNumber();
    const logged = await writeValuations({ producer, serverId }, accountNumber, Date.now() - EQUITIES.length * 1_000);
    await writeSamples({ producer, serverId }, logged);
    const [from, to] = [logged[2]?.valuation.measuredAt ?? "", logged[6]?.valuation.measuredAt ?? ""];
    const { status, body } = await read(accountNumber, from, to);
    expect(status).toBe(200);
    const document = await verified(body);
    expect(document).toMatchObject({ kind: "interval", organizationId, accountNumber, from, to, missing: [] });
    const offsets = document.records.flatMap((record) => (record.kind === "valuation" ? [record.offset] : []));
    expect(offsets).toEqual(logged.slice(2, 7).map(({ offset }) => offset));
    const sequences = document.records.flatMap((record) => (record.kind === "sample" ? [record.sequence] : []));
    expect(sequences).toEqual([1, 2, 3]);
  });

  it("has samples with the offsets of their valuations, if trading.valuations was recreated", async () => {
    const accountNumber = anyAccountNumber();
    const logged = await writeValuations({ producer, serverId }, accountNumber, Date.now() - EQUITIES.length * 1_000);
    await writeSamples({ producer, serverId }, logged, 1);
    const [from, to] = [logged[0]?.valuation.measuredAt ?? "", logged.at(-1)?.valuation.measuredAt ?? ""];
    const { missing, records } = await verified((await read(accountNumber, from, to)).body);
    const ends = records.flatMap((record) => (record.kind === "sample" ? [record.to] : []));
    expect([missing, ends]).toEqual([[], [2, 5, 8, 9].map((index) => logged[index]?.offset)]);
  });

  it("is refused for an interval that is missing, in the future, too old, too long, or ends before it begins", async () => {
    const accountNumber = anyAccountNumber();
    const now = Date.now();
    const minute = 60_000;
    const cases: [from: number, to: number, field: string][] = [
      [now, now + minute, "to"],
      [now - 25 * 60 * minute, now - 24.9 * 60 * minute, "from"],
      [now - 20 * minute, now - minute, "to"],
      [now - minute, now - 2 * minute, "to"],
    ];
    for (const [from, to, field] of cases) {
      const { status, body } = await read(accountNumber, toIso(from), toIso(to));
      expect([status, (JSON.parse(body.toString()) as { issues: { path: unknown }[] }).issues[0]?.path]).toEqual([
        400,
        [field],
      ]);
    }
    const path = pathOf(RISK_ROUTES.getIntervalEvidence, { params: { serverId, accountNumber } });
    expect((await risk.request("GET", path)).status).toBe(400);
  });
});
