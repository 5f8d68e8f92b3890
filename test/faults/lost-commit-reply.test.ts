/**
 * The reply to a commit is lost. The process then publishes the event of this commit seconds later,
 * behind newer events of the account. Webhooks still numbers the events in the order of the
 * commits.
 */
import { COMMANDS_MIGRATIONS, type CommandStore, startCommandStore } from "@kapi/commands";
import { type FinanceEvent, TOPICS, WebhookEvent } from "@kapi/contracts";
import { createKafka, startLogReader } from "@kapi/kafka";
import { systemClock } from "@kapi/kernel";
import { startPool, type Database, migrate, statement } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";
import { TcpProxy } from "@kapi/servers";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";

import { anyOwner, transaction } from "../../services/webhooks/test/event-messages.ts";
import { Receiver } from "../../services/webhooks/test/receiver.ts";
import { Harness } from "../../services/webhooks/test/harness.ts";

const SCHEMA = "lost_commit_reply";
/**
 * The lost reply is detected within 5 s. The event's outbox row is published soon after the row is
 * 5 s old.
 */
const DELIVERED_WITHIN_MS = 30_000;
/** Finds the outbox row of an event. The row is visible after the commit of its transaction. */
const LEFT_BEHIND = statement<{ id: number }>("left_behind", "select id from outbox where messages like $1");
const PublishedEvent = z.object({ transaction: z.object({ sequence: z.number() }) });

const logger = createLogger({ service: "test", level: "silent" });
/** `transaction.sequence` of the finance events, in the order of the topic. */
const published: number[] = [];
let harness: Harness;
let receiver: Receiver;
let proxy: TcpProxy;
let store: CommandStore;
/** Connects to PostgreSQL without the proxy. */
let direct: Database;

beforeAll(async () => {
  harness = await Harness.start();
  const { scope, environment, producer } = harness;
  receiver = await scope.start("receiver", async () => {
    const value = await Receiver.start();
    return { value, stop: () => value.stop() };
  });
  const front = await TcpProxy.inFrontOf(environment.postgresUrl);
  ({ proxy } = front);
  await scope.start("proxy", () => ({ value: null, stop: () => proxy.close() }));
  const directories = [COMMANDS_MIGRATIONS];
  await migrate({ connectionString: environment.postgresUrl, schema: SCHEMA, directories, logger });
  const open = (connectionString: string) =>
    scope.start("database", () => startPool({ connectionString, schema: SCHEMA, applicationName: "test", logger }));
  direct = await open(environment.postgresUrl);
  const database = await open(front.url);
  const options = { worker: "test", database, producer, clock: systemClock, logger };
  store = await scope.start("store", () => startCommandStore(options));
  const brokers = environment.kafkaBrokers.split(",");
  const kafka = createKafka({ brokers, clientId: "test", topicPrefix: environment.topicPrefix, logger });
  await scope.start("finance events", () =>
    startLogReader(kafka, {
      topic: TOPICS.financeEvents,
      from: "beginning",
      onBatch: (_partition, messages) => {
        for (const { value } of messages)
          published.push(PublishedEvent.parse(JSON.parse(value.toString())).transaction.sequence);
      },
      logger,
      fatal: (error) => {
        throw error;
      },
    }),
  );
});
afterAll(() => harness.stop());

it("newer events overtake an event whose commit got no reply, but a receiver gets all events numbered in order", async () => {
  const owner = { ...anyOwner(), organizationId: harness.organizationId };
  await harness.createEndpoint({ url: receiver.url });
  const eventAt = (sequence: number): FinanceEvent => {
    const event = transaction(owner);
    return { ...event, transaction: { ...event.transaction, sequence } } as FinanceEvent;
  };
  const key = `${owner.serverId}/${owner.accountNumber}`;
  const messageOf = (event: FinanceEvent) => ({ topic: TOPICS.financeEvents, key, value: JSON.stringify(event) });
  const commit = (sequence: number): Promise<void> =>
    store.transact((unit) => Promise.resolve(unit.enqueue([messageOf(eventAt(sequence))])));

  await commit(1);
  /** The event whose commit gets no reply. */
  const second = eventAt(2);
  let tries = 0;
  let passed = Promise.resolve();
  await store.transact(async (unit) => {
    tries += 1;
    // As in finance: a retry does nothing if the commit without a reply already took effect.
    if (tries > 1) return;
    unit.enqueue([messageOf(second)]);
    // This query waits for the reply to `begin`. The write and the commit are sent without waiting
    // for replies.
    await unit.query(LEFT_BEHIND, [""]);
    await proxy.dropReplies();
    passed = eventually(async () =>
      expect(await direct.query(LEFT_BEHIND, [`%${second.eventId}%`])).toHaveLength(1),
    ).then(() => proxy.pass());
  });
  await passed;
  expect(tries).toBe(2);
  await commit(3);
  await commit(4);

  await eventually(() => expect(published).toHaveLength(4), { timeoutMs: DELIVERED_WITHIN_MS });
  expect(published).toEqual([1, 3, 4, 2]);
  await eventually(() => expect(receiver.received).toHaveLength(4), { timeoutMs: DELIVERED_WITHIN_MS });
  const delivered = receiver.received.map(({ body }) => WebhookEvent.parse(JSON.parse(body)).data);
  const inOrder = delivered.toSorted((one, other) => Number(one.accountSequence) - Number(other.accountSequence));
  expect(inOrder.map(({ accountSequence }) => accountSequence)).toEqual([1, 2, 3, 4]);
  expect(inOrder.map((data) => (data as { sequence?: number }).sequence)).toEqual([1, 2, 3, 4]);
  const { events } = await harness.events();
  expect(events.map(({ data }) => data.accountSequence)).toEqual([1, 2, 3, 4]);
});
