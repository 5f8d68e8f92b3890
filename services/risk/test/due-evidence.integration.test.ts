/**
 * Collects the evidence of due breaches in PostgreSQL: while a trading server does not answer, and
 * after `trading.valuations` was recreated.
 */
import { randomBytes, randomUUID } from "node:crypto";
import path from "node:path";

import { COMMANDS_MIGRATIONS, type CommandStore, startCommandStore } from "@kapi/commands";
import type { AccountMetricsFrame, RiskRule } from "@kapi/contracts";
import { createSigner, toValuationEvidence } from "@kapi/evidence";
import { createKafka, startProducer } from "@kapi/kafka";
import { amountFromMinor, systemClock, toIso } from "@kapi/kernel";
import { type Database, migrate, startPool, statement } from "@kapi/postgres";
import { createLogger, Scope } from "@kapi/runtime";
import { createTestEnvironment, valuation } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import type { AccountRecords, LoggedValuation } from "../src/domain/evidence.ts";
import type { ReadPositions } from "../src/domain/ports.ts";
import { collectEvidence } from "../src/operations/collect-evidence.ts";
import { createEvaluationStore } from "../src/outbound/postgres/evaluation-store.ts";
import { createEvidenceStore } from "../src/outbound/postgres/evidence-store.ts";

const RULE: RiskRule = { id: "max", type: "maxLoss", limit: { amount: 10 }, action: "notify" };
/** More breaches than one round collects. */
const MANY = 250;
const FEW = 3;

// $1 server, $2 number of breaches, $3 rule, $4 seconds since they were due.
const INSERT_BREACHES = statement<never>(
  "test-insert-breaches",
  `insert into alerts (id, kind, organization_id, server_id, account_number, rule_id, rule_since, period, rule_version,
     rule, reference_minor, base_minor, threshold_minor, value_minor, equity_minor, balance_minor, measured_at,
     recorded_at, partition, currency, rule_active_from, evidence_due_at)
   select gen_random_uuid(), 'breached', $1, $1, (1000 + number)::text, 'max', 1, 'lifetime', 1, $3::json, 0, 0, 0, 0, 0, 0,
     now() - interval '80 s', now() - interval '80 s', 0, 'USD', now() - interval '1 h',
     now() - $4::integer * interval '1 s'
   from generate_series(1, $2) as number`,
);
// $1 server, $2 rule, $3 time of the breach. The breach is at offset 5 of partition 1.
// Its rules are active from offset 3.
const INSERT_AT_OFFSET = statement<{ id: string }>(
  "test-insert-breach-at-offset",
  `insert into alerts (id, kind, organization_id, server_id, account_number, rule_id, rule_since, period, rule_version,
     rule, reference_minor, base_minor, threshold_minor, value_minor, equity_minor, balance_minor, measured_at,
     valuation_partition, valuation_offset, recorded_at, partition, currency, rule_active_from,
     rule_active_from_offset, evidence_due_at)
   values (gen_random_uuid(), 'breached', $1, $1, '1000', 'max', 1, 'lifetime', 1, $2::json, 100000, 100000, 99000, 99000,
     99000, 100000, $3, 1, 5, $3, 1, 'USD', $3::timestamptz - interval '1 h', 3, now())
   returning id`,
);
const STORED = statement<{ server_id: string; count: number }>(
  "test-count-stored-evidence",
  `select a.server_id, count(*)::integer as count from evidence e join alerts a on a.id = e.breach_id group by 1`,
);

const scope = new Scope({ stopDeadlineMs: 30_000 });
const logger = createLogger({ service: "test", level: "silent" });
let database: Database;
let commands: CommandStore;

beforeAll(async () => {
  const environment = await createTestEnvironment({ needs: ["kafka", "postgres"], partitions: 1 });
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  const { kafkaBrokers, topicPrefix, postgresUrl: connectionString } = environment;
  const directory = path.resolve(import.meta.dirname, "../migrations");
  await migrate({ connectionString, schema: "risk", directory, directories: [COMMANDS_MIGRATIONS], logger });
  database = await scope.start("postgres", () =>
    startPool({ connectionString, schema: "risk", applicationName: "test", logger }),
  );
  const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
  const producer = await scope.start("producer", () => startProducer(kafka));
  commands = await scope.start("commands", () =>
    startCommandStore({ worker: "risk", database, producer, clock: systemClock, logger }),
  );
});

afterAll(() => scope.stop());

/** Collects the evidence that is due on a partition, from a log with these records. */
function collect(
  partition: number,
  records: Pick<AccountRecords, "valuations" | "samples">,
  readPositions: ReadPositions,
): Promise<void> {
  const all = { ...records, isCut: { valuations: false, samples: false }, isFull: false };
  const signer = createSigner({ currentKeyId: "test", keys: new Map([["test", randomBytes(32)]]) });
  const store = createEvidenceStore(database);
  const readLog = () => Promise.resolve(() => all);
  return collectEvidence({ store, commands, readLog, readPositions, signer, clock: systemClock, logger }, [partition]);
}

it("evidence of breaches does not wait for many earlier breaches on a trading server that does not answer", async () => {
  const [failing, healthy] = [randomUUID(), randomUUID()];
  await database.query(INSERT_BREACHES, [failing, MANY, JSON.stringify(RULE), 2]);
  await database.query(INSERT_BREACHES, [healthy, FEW, JSON.stringify(RULE), 1]);
  let failures = 0;
  await collect(0, { valuations: [], samples: [] }, ({ serverId }) => {
    if (serverId === healthy) return Promise.resolve({ positions: [], isCut: false });
    failures += 1;
    return Promise.reject(new Error("the trading server does not answer"));
  });
  expect(await database.query(STORED, [])).toEqual([{ server_id: healthy, count: FEW }]);
  // Each call can take seconds.
  expect(failures).toBe(1);
});

it("if trading.valuations was recreated after a breach, the evidence shows no valuation of the new topic as the breaching one", async () => {
  const serverId = randomUUID();
  const breachedMs = Date.now() - 80_000;
  const evaluations = createEvaluationStore(database);
  await evaluations.acquire(1, "topic", { generation: 1, tokens: new Map() });
  const [breach] = await database.query(INSERT_AT_OFFSET, [serverId, JSON.stringify(RULE), toIso(breachedMs)]);
  await evaluations.acquire(1, "recreated topic", { generation: 2, tokens: new Map() });

  const one = (seconds: number) =>
    valuation({ serverId, accountNumber: "1000", measuredAt: toIso(breachedMs + seconds * 1_000) });
  const logged = (offset: number, seconds: number): LoggedValuation => {
    const values = one(seconds);
    const measuredAtMs = Date.parse(values.measuredAt);
    const evidence = toValuationEvidence(values, { partition: 1, offset, timestampMs: measuredAtMs });
    return { ...values, measuredAtMs, evidence };
  };
  const last = one(30);
  const balance = amountFromMinor(last.balanceMinor);
  const frame: AccountMetricsFrame = {
    type: "account.metrics",
    eventId: randomUUID(),
    serverId,
    accountNumber: "1000",
    sequence: 1,
    measuredAt: last.measuredAt,
    balance,
    equity: balance,
    margin: 0,
    freeMargin: balance,
    marginLevel: 0,
    openPositionCount: 0,
    intervalMinimumEquity: balance,
    intervalMinimumMeasuredAt: last.measuredAt,
  };
  const records = {
    valuations: [logged(2, 10), logged(5, 20), logged(6, 30)],
    // The samples of the time before the recreation are deleted too.
    samples: [{ frame, range: { sequence: 1, from: -1, to: 6 } }],
  };
  await collect(1, records, () => Promise.resolve({ positions: [], isCut: false }));

  const evidence = await createEvidenceStore(database).read({ serverId, accountNumber: "1000" }, breach?.id ?? "");
  expect(evidence?.status === "stored" && JSON.parse(evidence.document)).toMatchObject({
    breach: { at: toIso(breachedMs), valuationIndex: null, sequence: null },
    rule: { activeFrom: toIso(breachedMs - 3_600_000) },
    missing: [{ what: "valuations", reason: "unavailable", from: null, to: toIso(breachedMs + 10_000) }],
  });
});
