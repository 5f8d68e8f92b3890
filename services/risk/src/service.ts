import { fileURLToPath } from "node:url";

import { COMMANDS_MIGRATIONS, startCommandStore, startCommandWorker } from "@kapi/commands";
import { accountKey, TOPICS, type AccountRef } from "@kapi/contracts";
import { createSigner, publicKeys } from "@kapi/evidence";
import { DependencyError } from "@kapi/http";
import { beginOffsets, endOffsets, partitionCounts, startProducer, topicIds } from "@kapi/kafka";
import { assertDefined } from "@kapi/kernel";
import { isTransient, isUniqueViolation, startDatabaseClock } from "@kapi/postgres";
import { type MainContext, type MigrationContext, observed, type ServiceProgram } from "@kapi/runtime";
import {
  type ServiceKafka,
  startServiceKafka,
  migrateSchema,
  type ServiceSchema,
  startDatabase,
  startInternalHttp,
  startReader,
  startRepeated,
  startServiceClient,
} from "@kapi/service";

import { type Config, ConfigSchema } from "./config.ts";
import { DayCalendars } from "./domain/day.ts";
import { registerRiskRoutes } from "./inbound/http/routes.ts";
import { startAccountConsumer } from "./inbound/kafka/account-events.ts";
import { startValuationConsumer } from "./inbound/kafka/valuations.ts";
import { TemplateApplier } from "./operations/apply-risk-templates.ts";
import { collectEvidence } from "./operations/collect-evidence.ts";
import { deleteOldEvidence } from "./operations/delete-old-evidence.ts";
import { Evaluator } from "./operations/evaluator.ts";
import { createIntervalEvidence, readBreachEvidence } from "./operations/read-evidence.ts";
import { createRiskExecutor } from "./operations/risk-executor.ts";
import { createAccountReader, createSelectedAccounts } from "./outbound/http/accounts.ts";
import { createPositionReader } from "./outbound/http/positions.ts";
import { createAccountLog } from "./outbound/kafka/account-log.ts";
import {
  createBreachFinder,
  createBreachReader,
  createRecentBreachReader,
  createSingleBreachReader,
} from "./outbound/postgres/breach-reader.ts";
import { createEvaluationStore } from "./outbound/postgres/evaluation-store.ts";
import { createEvidenceStore } from "./outbound/postgres/evidence-store.ts";
import { createLimitReader } from "./outbound/postgres/limit-reader.ts";
import { moveAccounts } from "./outbound/postgres/move-accounts.ts";
import { createRuleRepository } from "./outbound/postgres/rule-repository.ts";
import { createTemplateAccounts } from "./outbound/postgres/template-accounts.ts";
import { createTemplateStore } from "./outbound/postgres/template-repository.ts";
import { createWaitingAccounts } from "./outbound/postgres/waiting-accounts.ts";

const SERVICE = "risk";
const SCHEMA: ServiceSchema = {
  service: SERVICE,
  schema: "risk",
  directory: fileURLToPath(new URL("../migrations", import.meta.url)),
  directories: [COMMANDS_MIGRATIONS],
};
/**
 * Deadline of a call to the account service, which waits for a trading server at most
 * `TRADING_SERVER_TIMEOUT_MS` (3 s by default).
 */
const ACCOUNT_TIMEOUT_MS = 5_000;
/** Pause between two looks for rules that wait to become active. */
const ACTIVATION_PAUSE_MS = 200;
/** Pause between two looks for breaches whose evidence is due. */
const EVIDENCE_PAUSE_MS = 2_000;
/** Pause between two deletions of old evidence. */
const DELETION_PAUSE_MS = 600_000;
/** Pause between two looks for accounts that wait for a template. */
const TEMPLATE_PAUSE_MS = 200;

/** Migrates the schema: the command "migrate", and the first step of every start. */
export function migrateDatabase(context: MigrationContext): Promise<void> {
  return migrateSchema(SCHEMA, context);
}

/** Starts the service: its routes, then the comparison of valuations, last the command worker. */
export async function startService(context: MainContext<Config>): Promise<void> {
  const { config, scope, logger, health, fatal } = context;
  const database = await startDatabase(context, SCHEMA);
  const clock = await scope.start("database clock", () => startDatabaseClock(database, context));
  const kafka = await startServiceKafka(context, SERVICE);
  const producer = await scope.start("producer", () => startProducer(kafka));
  const account = await startServiceClient(context, {
    service: "account",
    baseUrl: config.ACCOUNT_URL,
    timeoutMs: ACCOUNT_TIMEOUT_MS,
  });
  const commands = await scope.start("command store", () =>
    startCommandStore({ worker: SERVICE, database, producer, clock, logger }),
  );
  const rules = createRuleRepository(database);
  const templates = { ...createTemplateStore(database), ...createWaitingAccounts(database) };
  const readAccount = createAccountReader(account);
  const selected = createSelectedAccounts(account);
  const partitionOf = (key: string): number => producer.partitionOf(TOPICS.tradingValuations, key);
  const counts = await partitionCounts(kafka);
  const count = assertDefined(counts.get(kafka.topicName(TOPICS.tradingValuations)), "the topic of valuations");
  await moveAccounts(database, kafka, count, partitionOf);
  const evidenceKeys = publicKeys(config.EVIDENCE_SIGNING_KEYS, config.EVIDENCE_KEYS_RETIRED ?? []);
  const signer = createSigner(config.EVIDENCE_SIGNING_KEYS);
  const evidence = createEvidenceStore(database);
  const readLog = createAccountLog(kafka, clock, grownAtMs(kafka));
  const calendars = new DayCalendars();
  const store = createEvaluationStore(database);
  const evaluator = new Evaluator({
    store,
    tokens: await store.tokens(),
    commands,
    calendarOf: (timeZone, dayStart) => calendars.of(timeZone, dayStart),
    clock,
    endOf: async (partition) => {
      const begin = (await beginOffsets(kafka, TOPICS.tradingValuations)).get(partition);
      const end = assertDefined(
        (await endOffsets(kafka, TOPICS.tradingValuations)).get(partition),
        "the end of the log",
      );
      return begin === end ? 0 : Number(end);
    },
    isDeleted: async (one) => (await readAccount(one, { valuation: "none" })) === null,
    topicId: async () => assertDefined((await topicIds(kafka, [TOPICS.tradingValuations]))[0], "the topic's id"),
    logger,
  });
  observed(
    "risk.accounts",
    "Accounts that have, or had, rules, on the partitions of this process",
    "{account}",
    async () => [{ value: await evaluator.accounts() }],
  );
  await startInternalHttp(context, SERVICE, {
    clock,
    isDependencyFailure: isTransient,
    register: (app) => {
      registerRiskRoutes(app, {
        readRules: rules.active,
        readBreaches: createBreachReader(database),
        readBreach: createSingleBreachReader(database),
        findBreach: createBreachFinder(database),
        readRecentBreaches: createRecentBreachReader(database),
        limits: { reader: createLimitReader(database), clock },
        readBreachEvidence: (name, breachId) => readBreachEvidence({ store: evidence, clock }, name, breachId),
        readIntervalEvidence: createIntervalEvidence({
          readAccount,
          readLog,
          partitionOf: (name) => partitionOf(keyOf(name)),
          signer,
          clock,
        }),
        templates,
        listTemplateAccounts: createTemplateAccounts(database),
        evidenceKeys,
      });
    },
  });
  await startReader(context, "valuations", () => startValuationConsumer({ kafka, evaluator, logger, fatal }));
  await startRepeated(context, {
    name: "activations",
    pauseMs: ACTIVATION_PAUSE_MS,
    round: () => evaluator.activateWaiting(),
  });
  await startRepeated(context, {
    name: "checkpoints",
    pauseMs: config.CHECKPOINT_INTERVAL_MS,
    firstPauseMs: config.CHECKPOINT_INTERVAL_MS,
    round: () => evaluator.checkpoint(),
  });
  await startRepeated(context, {
    name: "evidence",
    pauseMs: EVIDENCE_PAUSE_MS,
    round: () =>
      collectEvidence(
        { store: evidence, commands, readLog, readPositions: createPositionReader(account), signer, clock, logger },
        evaluator.partitions,
      ),
  });
  await startRepeated(context, {
    name: "old evidence",
    pauseMs: DELETION_PAUSE_MS,
    round: () => deleteOldEvidence(evidence, clock),
  });
  const located = (one: AccountRef) => ({ ...one, partition: partitionOf(keyOf(one)) });
  await startReader(context, "account events", () =>
    startAccountConsumer({
      kafka,
      deleteRules: (accounts) => rules.deleteRules(accounts),
      addChanged: (accounts) => templates.addChanged(accounts.map(located)),
      logger,
      fatal,
    }),
  );
  const applier = new TemplateApplier({
    templates,
    selected,
    readAccount,
    assigned: () => evaluator.partitions,
    partitionOf: (serverId, accountNumber) => partitionOf(accountKey(serverId, accountNumber)),
    isUnavailable: (error) => error instanceof DependencyError,
    isConflict: (error) => isTransient(error) || isUniqueViolation(error),
    clock,
    logger,
  });
  await startRepeated(context, { name: "templates", pauseMs: TEMPLATE_PAUSE_MS, round: () => applier.round() });
  const executor = createRiskExecutor({
    readAccount,
    addVersion: (version) => rules.add(version, partitionOf(keyOf(version))),
    templates,
    templatesOf: (serverId) => templates.all(serverId),
    selected,
    partitionOfServer: partitionOf,
    isUnavailable: (error) => error instanceof DependencyError || isTransient(error) || isUniqueViolation(error),
  });
  await scope.start("command worker", () =>
    startCommandWorker({
      worker: SERVICE,
      topic: TOPICS.commandsRisk,
      store: commands,
      kafka,
      executor,
      clock,
      logger,
      health,
      fatal,
    }),
  );
}

/** When the topics grew last; negative infinity if they never grew. */
function grownAtMs({ growth: { growth } }: ServiceKafka): number {
  const grownAt = growth?.grownAt ?? null;
  return grownAt === null ? Number.NEGATIVE_INFINITY : Date.parse(grownAt);
}

function keyOf({ serverId, accountNumber }: AccountRef): string {
  return accountKey(serverId, accountNumber);
}

/** The service, as its process runs it. */
export const program: ServiceProgram<typeof ConfigSchema> = {
  service: SERVICE,
  schema: ConfigSchema,
  start: startService,
  migrate: migrateDatabase,
};
