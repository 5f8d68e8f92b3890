/** Which due breaches get their evidence first, in PostgreSQL. */
import { randomBytes, randomUUID } from "node:crypto";
import path from "node:path";

import { COMMANDS_MIGRATIONS, type CommandStore, startCommandStore } from "@kapi/commands";
import type { RiskRule } from "@kapi/contracts";
import { createSigner } from "@kapi/evidence";
import { createKafka, startProducer } from "@kapi/kafka";
import { systemClock } from "@kapi/kernel";
import { type Database, migrate, startPool, statement } from "@kapi/postgres";
import { createLogger, Scope } from "@kapi/runtime";
import { createTestEnvironment } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { collectEvidence } from "../src/operations/collect-evidence.ts";
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

it("evidence of breaches does not wait for many earlier breaches on a trading server that does not answer", async () => {
  const [failing, healthy] = [randomUUID(), randomUUID()];
  await database.query(INSERT_BREACHES, [failing, MANY, JSON.stringify(RULE), 2]);
  await database.query(INSERT_BREACHES, [healthy, FEW, JSON.stringify(RULE), 1]);
  const records = { valuations: [], samples: [], isCut: { valuations: false, samples: false }, isFull: false };
  let failures = 0;
  await collectEvidence(
    {
      store: createEvidenceStore(database),
      commands,
      readLog: () => Promise.resolve(() => records),
      readPositions: ({ serverId }) => {
        if (serverId === healthy) return Promise.resolve({ positions: [], isCut: false });
        failures += 1;
        return Promise.reject(new Error("the trading server does not answer"));
      },
      signer: createSigner({ currentKeyId: "test", keys: new Map([["test", randomBytes(32)]]) }),
      clock: systemClock,
      logger,
    },
    [0],
  );
  expect(await database.query(STORED, [])).toEqual([{ server_id: healthy, count: FEW }]);
  // Each call can take seconds.
  expect(failures).toBe(1);
});
