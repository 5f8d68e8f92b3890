import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";

import { ADMISSION_LIBRARY, type AdmitReply, admit, recordKey, shardOf } from "@kapi/admission/redis";
import { startRedis } from "@kapi/redis";
import { type CommandEvent, type Settlement } from "@kapi/contracts";
import type { OutgoingMessage } from "@kapi/kafka";
import { systemClock, toIso } from "@kapi/kernel";
import { ROW_PER_MESSAGE, startOutbox } from "@kapi/outbox";
import { startPool, type Database, migrate, statement } from "@kapi/postgres";
import { createLogger, Scope } from "@kapi/runtime";
import { createTestEnvironment, type TestEnvironment } from "@kapi/testkit";
import { expect } from "vitest";

import type { CommandStatus, OpenCommand } from "../src/domain/credits/ports.ts";
import type { Store } from "../src/domain/ports.ts";
import { createOrganization } from "../src/operations/directory/create-organization.ts";
import type { LedgerContext } from "../src/operations/credits/ledger-context.ts";
import { type SyncContext, syncShards } from "../src/operations/credits/sync-shards.ts";
import { recordSettlements } from "../src/operations/credits/record-settlements.ts";
import { createStore } from "../src/outbound/postgres/store.ts";

export const MIGRATIONS = fileURLToPath(new URL("../migrations", import.meta.url));

/** The commands that command-status knows; tests set them. */
export interface KnownCommands {
  open: OpenCommand[];
  known: Set<string>;
  /** The known commands that are final. */
  final: Set<string>;
}

/** Collects the messages that the outbox publishes; fails to send while `isUnavailable`. */
export interface KafkaStandIn {
  readonly taken: (OutgoingMessage & { readonly topic: string })[];
  isUnavailable: boolean;
}

export interface LedgerHarness {
  readonly environment: TestEnvironment;
  readonly context: Omit<SyncContext, "store"> & { readonly store: Store };
  readonly database: Database;
  readonly commands: KnownCommands;
  readonly kafka: KafkaStandIn;
  stop(): Promise<void>;
}

/**
 * Starts a ledger on its own PostgreSQL and Redis. All shards are unsynced. `before` runs before
 * the migrations of the schema `organization`.
 */
export async function startLedger(before?: (connectionString: string) => Promise<void>): Promise<LedgerHarness> {
  const scope = new Scope();
  const environment = await createTestEnvironment({ needs: ["postgres", "redis"] });
  await scope.start("environment", () => ({ value: environment, stop: () => environment.stop() }));
  const logger = createLogger({ service: "organization-test", level: "silent" });
  const connectionString = environment.postgresUrl;
  await before?.(connectionString);
  await migrate({ connectionString, schema: "organization", directory: MIGRATIONS, logger });
  const database = await scope.start("postgres", () =>
    startPool({ connectionString, schema: "organization", applicationName: "organization-test", logger }),
  );
  const redis = await scope.start("redis", () =>
    startRedis({
      url: environment.redisUrl,
      clientName: "organization-test",
      functionLibraries: [ADMISSION_LIBRARY],
      logger,
    }),
  );
  const commands: KnownCommands = { open: [], known: new Set(), final: new Set() };
  const kafka: KafkaStandIn = { taken: [], isUnavailable: false };
  const producer = {
    send: (topic: { name: string }, message: OutgoingMessage) => {
      if (kafka.isUnavailable) return Promise.reject(new Error("Kafka is unavailable"));
      kafka.taken.push({ ...message, topic: topic.name });
      return Promise.resolve({ partition: 0, offset: 0n });
    },
  };
  const outbox = await scope.start("outbox", () =>
    startOutbox({ service: "organization", database, rows: ROW_PER_MESSAGE, producer, logger }),
  );
  const nothing = (): Promise<Map<number, bigint>> => Promise.resolve(new Map());
  const context: LedgerHarness["context"] = {
    store: createStore(database, outbox),
    redis,
    clock: systemClock,
    logger,
    commandStatus: commandStatusOf(commands),
    eventLog: { begins: nothing, ends: nothing },
  };
  return { environment, context, database, commands, kafka, stop: () => scope.stop() };
}

function commandStatusOf(commands: KnownCommands): CommandStatus {
  return {
    caughtUp: () => Promise.resolve(),
    open: (organizationIds) =>
      Promise.resolve(commands.open.filter((command) => organizationIds.includes(command.organizationId))),
    states: (commandIds) =>
      Promise.resolve(
        commandIds.map((commandId) => {
          if (!commands.known.has(commandId)) return "unknown";
          return commands.final.has(commandId) ? "final" : "open";
        }),
      ),
  };
}

/** The author of changes in tests. */
export const NOBODY = { actor: null, address: null };

/** Creates an organization with `credits`, and syncs its wallet shard. Returns the new id. */
export async function organizationWith(
  harness: LedgerHarness,
  credits: number,
  lowBalanceThreshold = 0,
): Promise<string> {
  const wanted = { name: "Test", credits, lowBalanceThreshold };
  const { organizationId } = await createOrganization(harness.context, wanted, NOBODY);
  await syncShards(harness.context, [shardOf(organizationId)]);
  return organizationId;
}

/** Consumes `price` as a read would. */
export function read(
  context: LedgerContext,
  organizationId: string,
  price: number,
  traceparent?: string,
): Promise<AdmitReply> {
  return admit(context.redis, { ...request(organizationId, price), traceparent });
}

/** Reserves `credits` for a command, by default a new command; returns the command's id. */
export async function reserve(
  context: LedgerContext,
  organizationId: string,
  credits: number,
  commandId: string = randomUUID(),
  traceparent?: string,
): Promise<string> {
  await reserveAs(context, organizationId, commandId, credits, traceparent);
  return commandId;
}

/** Reserves `credits` for this command; returns the charge id of the request. */
export async function reserveAs(
  context: LedgerContext,
  organizationId: string,
  commandId: string,
  credits: number,
  traceparent?: string,
): Promise<string> {
  const call = request(organizationId, 0);
  await admit(context.redis, {
    ...call,
    mode: "reserve",
    records: [{ commandId, fingerprint: "print", message: "{}", credits }],
    traceparent,
  });
  return call.chargeId;
}

function request(organizationId: string, price: number) {
  return { ...requestOf(organizationId, randomUUID()), price };
}

/** The admission call of a read, with this charge id. */
export function requestOf(organizationId: string, chargeId: string) {
  return {
    callerName: "aaaaaaaaaaaaaaaa",
    organizationId,
    chargeId,
    mode: "consume" as const,
    price: 1,
    readPrice: 1,
    operation: "getCommand",
    requestId: "request",
    rateLimit: null,
    records: [],
  };
}

/**
 * Returns the charge id of a command's reservation: the charge id in the idempotency record, or the
 * command id if the record has none. The gateway puts this charge id into the command message.
 */
export async function reservationOf(
  { redis }: LedgerContext,
  organizationId: string,
  commandId: string,
): Promise<string> {
  return (await redis.commands.hget(recordKey(shardOf(organizationId), commandId), "charge")) ?? commandId;
}

/** Records the final event of a command. */
export async function finish(
  context: LedgerContext,
  organizationId: string,
  commandId: string,
  credits: number,
  action: Settlement["action"] = "consume",
  chargeId: string = commandId,
): Promise<void> {
  const event = finalEvent(context, organizationId, commandId, credits, action, chargeId);
  await recordSettlements(context, [event], [{ partition: 0, nextOffset: 1n }]);
}

/** The final event of a command. */
export function finalEvent(
  context: LedgerContext,
  organizationId: string,
  commandId: string,
  credits: number,
  action: Settlement["action"] = "consume",
  chargeId: string = commandId,
): CommandEvent {
  return {
    commandId,
    organizationId,
    serverId: randomUUID(),
    accountNumber: null,
    managedAccountId: null,
    operation: "finance.deposit",
    version: 1,
    status: action === "consume" ? "succeeded" : "expired",
    attempts: 1,
    result: null,
    errorCode: null,
    errorMessage: null,
    settlement: { chargeId, credits, action },
    occurredAt: toIso(context.clock.nowMs()),
  };
}

export interface Sums {
  readonly available: number;
  readonly reserved: number;
  readonly consumed: number;
  readonly purchased: number;
}

/** The wallet as Redis has it. */
export async function redisSums(context: LedgerContext, organizationId: string): Promise<Sums> {
  const reply = await admit(context.redis, { ...request(organizationId, 0), mode: "free" });
  if (reply.kind !== "admitted") throw new Error(`the wallet cannot be read: ${reply.kind}`);
  const { available, reserved, consumed, purchased } = reply.wallet;
  return { available, reserved, consumed, purchased };
}

const selectSums = statement<Sums>(
  "test_select_sums",
  `select available, reserved, consumed, purchased from wallets where organization_id = $1`,
);
const selectDerived = statement<Sums>(
  "test_select_derived",
  `with entries as (select * from all_credit_entries where organization_id = $1),
     sums as (
       select coalesce(sum(credits) filter (where leg = 'purchase'), 0)::bigint as purchased,
         coalesce(sum(case when leg = 'reserve' then credits when leg = 'settle' then -credits end), 0)::bigint as reserved,
         coalesce(sum(case when leg = 'consume' or action = 'consume' then credits when leg = 'refund' then -credits end), 0)::bigint
           as consumed
       from entries)
   select purchased - reserved - consumed as available, reserved, consumed, purchased from sums`,
);

/** Sums of the wallet in the ledger, and sums of its entries. */
export async function ledgerSums(
  { database }: LedgerHarness,
  organizationId: string,
): Promise<{ kept: Sums; derived: Sums }> {
  const [kept] = await database.query(selectSums, [organizationId]);
  const [derived] = await database.query(selectDerived, [organizationId]);
  if (!kept || !derived) throw new Error("the organization has no wallet in the ledger");
  return { kept, derived };
}

/** Expects `sums` in the ledger's wallet, and the same wallet in Redis and from the entries. */
export async function expectWallet(harness: LedgerHarness, organizationId: string, sums: object): Promise<void> {
  const { kept, derived } = await ledgerSums(harness, organizationId);
  expect(kept).toMatchObject(sums);
  expect(derived).toEqual(kept);
  expect(await redisSums(harness.context, organizationId)).toEqual(kept);
}
