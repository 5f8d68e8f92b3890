import {
  type Command,
  Command as CommandSchema,
  type CommandEvent,
  type AnyCommandMessage,
  queuedCommand,
  TOPICS,
} from "@kapi/contracts";
import { ADMISSION_LIBRARY, recordKey, shardOf } from "@kapi/admission/redis";
import { startRedis, type RedisConnection } from "@kapi/redis";
import { createLogger, type Started } from "@kapi/runtime";
import { commandMessage, createTestEnvironment, eventually, TcpProxy, type TestEnvironment } from "@kapi/testkit";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

import { eventOf } from "./events.ts";
import { type Running, startRunning } from "./running.ts";

let environment: TestEnvironment;
/** Proxies between the service and its servers. */
let proxies: Readonly<Record<"postgres" | "redis", TcpProxy>>;
let running: Running;
let redis: Started<RedisConnection>;

beforeAll(async () => {
  environment = await createTestEnvironment();
  const [postgresFront, redisFront] = await Promise.all([
    TcpProxy.inFrontOf(environment.postgresUrl),
    TcpProxy.inFrontOf(environment.redisUrl),
  ]);
  proxies = { postgres: postgresFront.proxy, redis: redisFront.proxy };
  running = await startRunning(environment, { POSTGRES_URL: postgresFront.url, REDIS_URL: redisFront.url });
  const logger = createLogger({ service: "test", level: "error" });
  redis = await startRedis({
    url: running.environment.redisUrl,
    clientName: "test",
    functionLibraries: [ADMISSION_LIBRARY],
    logger,
  });
});
afterAll(async () => {
  await redis.stop();
  await running.stop();
  await Promise.all([proxies.postgres.close(), proxies.redis.close()]);
  await environment.stop();
});

async function publishMessage(message: AnyCommandMessage): Promise<void> {
  await running.producer.send(TOPICS.commandsFinance, { key: message.commandId, value: JSON.stringify(message) });
}

async function publishEvent(event: CommandEvent): Promise<void> {
  await running.producer.send(TOPICS.commandEvents, { key: event.commandId, value: JSON.stringify(event) });
}

/** Reads commands as their own organizations; null for an unknown command. */
async function read(
  ...messages: Pick<AnyCommandMessage, "organizationId" | "commandId">[]
): Promise<(Command | null)[]> {
  const reads = messages.map(({ organizationId, commandId }) => ({ organizationId, commandId }));
  const answer = await running.client.request("POST", "/internal/commands/read", { reads });
  expect(answer.status).toBe(200);
  const lines = answer.body.toString().split("\n");
  expect(lines.pop()).toBe("");
  return lines.map((line) =>
    line === "" ? null : z.object({ command: CommandSchema }).parse(JSON.parse(line)).command,
  );
}

async function caughtUp(): Promise<void> {
  expect((await running.client.request("POST", "/internal/commands/caught-up", {})).status).toBe(200);
}

describe("a command", () => {
  it("can be read as queued once its message is published, as the gateway shows it", async () => {
    const message = commandMessage({ payload: { amount: 12.5, description: 'quotes " and \\ and ünïcode\n' } });
    await publishMessage(message);
    await caughtUp();
    expect(await read(message)).toEqual([queuedCommand(message)]);
  });

  it("shows its creator, and null if a gateway of 0.1.0 accepted it", async () => {
    const createdBy = { type: "key", id: "aaaaaaaaaaaaaaaa" } as const;
    const [message, { createdBy: _none, ...earlier }] = [commandMessage({ createdBy }), commandMessage()];
    await publishMessage(message);
    await publishMessage(earlier);
    await caughtUp();
    expect(await read(message, earlier)).toMatchObject([{ createdBy }, { createdBy: null }]);
  });

  it("shows its newest state, and never changes after its final state", async () => {
    const message = commandMessage();
    await publishMessage(message);
    await publishEvent(eventOf(message, { version: 1, status: "leased", result: null }));
    await publishEvent(eventOf(message, { version: 3, status: "leased", result: null, attempts: 2 }));
    await publishEvent(eventOf(message, { version: 2, status: "queued", result: null }));
    await caughtUp();
    expect(await read(message)).toMatchObject([{ status: "leased", attempts: 2, completedAt: null }]);

    const finalEvent = eventOf(message, { version: 4, attempts: 2 });
    await publishEvent(finalEvent);
    await publishEvent(eventOf(message, { version: 5, status: "leased", result: null }));
    await publishMessage(message);
    await caughtUp();
    expect(await read(message)).toMatchObject([
      {
        status: "succeeded",
        result: finalEvent.result,
        completedAt: finalEvent.occurredAt,
        updatedAt: finalEvent.occurredAt,
      },
    ]);
  });

  it("is unknown while only its final event has arrived, and final once its message has arrived too", async () => {
    const message = commandMessage({ operation: "account.create", accountNumber: null });
    await publishEvent(eventOf(message, { accountNumber: "10000007", result: { accountNumber: "10000007" } }));
    await caughtUp();
    expect(await read(message)).toEqual([null]);
    await publishMessage(message);
    await caughtUp();
    expect(await read(message)).toMatchObject([
      { status: "succeeded", accountNumber: "10000007", idempotencyKey: message.idempotencyKey },
    ]);
  });

  it("shows the fields of its message and of its final event after both have arrived", async () => {
    const message = commandMessage({ operation: "account.create", accountNumber: null });
    const finalEvent = eventOf(message, { accountNumber: "10000008", result: { accountNumber: "10000008" } });
    await publishMessage(message);
    await publishEvent(finalEvent);
    await caughtUp();
    expect(await read(message)).toEqual([
      {
        ...queuedCommand(message),
        status: "succeeded",
        attempts: 1,
        accountNumber: "10000008",
        result: { accountNumber: "10000008" },
        updatedAt: finalEvent.occurredAt,
        completedAt: finalEvent.occurredAt,
      },
    ]);
  });

  it("is final if its message is published again at the same time as its final event", async () => {
    const message = commandMessage();
    await publishMessage(message);
    await caughtUp();
    await Promise.all([publishMessage(message), publishEvent(eventOf(message))]);
    await caughtUp();
    expect(await read(message)).toMatchObject([{ status: "succeeded" }]);
  });

  it("of another organization does not exist for the caller", async () => {
    const message = commandMessage();
    await publishMessage(message);
    await caughtUp();
    expect(await read({ ...message, organizationId: randomUUID() }, message)).toMatchObject([
      null,
      { status: "queued" },
    ]);
  });
});

it("1,000 commands of one request are returned in the order of the request", async () => {
  const messages = Array.from({ length: 1_000 }, () => commandMessage());
  await Promise.all(messages.map(publishMessage));
  await caughtUp();
  const unknown = commandMessage();
  const asked = [...messages.slice(0, 500), unknown, ...messages.slice(500, 999)];
  const found = await read(...asked);
  expect(found.map((command) => command?.id ?? null)).toEqual(
    asked.map((message) => (message === unknown ? null : message.commandId)),
  );
});

describe("the look-up of commands", () => {
  it("returns fingerprint, organization, id of the derivation key and command of known commands, and null for unknown ones, in order", async () => {
    const message = commandMessage({ derivationKeyId: "d1" });
    await publishMessage(message);
    await caughtUp();
    const answer = await running.client.request("POST", "/internal/commands/lookup", {
      commandIds: [randomUUID(), message.commandId],
    });
    expect(JSON.parse(answer.body.toString())).toEqual({
      commands: [
        null,
        {
          fingerprint: message.fingerprint,
          organizationId: message.organizationId,
          derivationKeyId: "d1",
          command: queuedCommand(message),
        },
      ],
    });
  });
});

it("the service lists the open commands of an organization, with their reserved credits", async () => {
  const organizationId = randomUUID();
  const open = commandMessage({ organizationId, reservedCredits: 7 });
  const done = commandMessage({ organizationId });
  await Promise.all([publishMessage(open), publishMessage(done), publishEvent(eventOf(done))]);
  await caughtUp();
  const answer = await running.client.request("POST", "/internal/commands/open", {
    organizationIds: [organizationId],
  });
  expect(JSON.parse(answer.body.toString())).toEqual({
    commands: [{ commandId: open.commandId, organizationId, reservedCredits: 7 }],
  });
});

describe("the idempotency record of a command", () => {
  const keyOf = (message: AnyCommandMessage): string => recordKey(shardOf(message.organizationId), message.commandId);

  async function createRecord(message: AnyCommandMessage): Promise<void> {
    const fields = { fingerprint: message.fingerprint, message: JSON.stringify(message), answered: "1" };
    await redis.value.commands.hset(keyOf(message), fields);
    await redis.value.commands.pexpire(keyOf(message), 24 * 3_600_000);
  }

  it("keeps its message until the command is final, and then expires within an hour", async () => {
    const message = commandMessage();
    await createRecord(message);
    await publishMessage(message);
    await caughtUp();
    expect(await redis.value.commands.hget(keyOf(message), "message")).toBe(JSON.stringify(message));

    await publishEvent(eventOf(message));
    await eventually(async () => {
      expect(await redis.value.commands.hget(keyOf(message), "message")).toBeNull();
    });
    expect(await redis.value.commands.hget(keyOf(message), "fingerprint")).toBe(message.fingerprint);
    await eventually(async () => {
      expect(await redis.value.commands.pttl(keyOf(message))).toBeLessThanOrEqual(3_600_000);
    });
  });

  it("keeps its copy of the command message until that message arrives, even if the final event arrives first", async () => {
    const message = commandMessage();
    await createRecord(message);
    await publishEvent(eventOf(message));
    await caughtUp();
    expect(await redis.value.commands.hget(keyOf(message), "message")).toBe(JSON.stringify(message));
    await publishMessage(message);
    await eventually(async () => {
      expect(await redis.value.commands.hget(keyOf(message), "message")).toBeNull();
    });
  });
});

describe("an invalid record", () => {
  it("does not delay the records after it", async () => {
    const message = commandMessage();
    await running.producer.send(TOPICS.commandsFinance, { key: message.commandId, value: "{no json" });
    await running.producer.send(TOPICS.commandsFinance, { key: message.commandId, value: '{"commandId":1}' });
    await publishMessage(message);
    await caughtUp();
    expect(await read(message)).toMatchObject([{ status: "queued" }]);
  });
});

it("the service is ready once its consumers have joined, and rejects calls without a token", async () => {
  expect(running.health.ready()).toEqual({ ok: true, reasons: {} });
  const answer = await fetch(`${running.url}/internal/commands/read`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"reads":[]}',
  });
  expect(answer.status).toBe(401);
});

it("the service is not ready while PostgreSQL does not answer, and is ready without Redis", async () => {
  await proxies.redis.refuse();
  await proxies.postgres.blackhole();
  await eventually(() => {
    expect(running.health.ready().reasons).toEqual({ postgres: expect.stringContaining("does not answer") });
  });
  await proxies.postgres.pass();
  await eventually(() => expect(running.health.ready().ok).toBe(true));
  const message = commandMessage();
  await Promise.all([publishMessage(message), publishEvent(eventOf(message))]);
  await caughtUp();
  expect(await read(message)).toMatchObject([{ status: "succeeded" }]);
  await proxies.redis.pass();
});
