import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";

import { COMMAND_DEADLINE_MS, TOPICS, type TopicContract } from "@kapi/contracts";
import { startLogReader } from "@kapi/kafka";
import { assert, commandIdOf } from "@kapi/kernel";
import { recordKey, settle, shardOf, walletKey } from "@kapi/admission/redis";
import { createLogger } from "@kapi/runtime";
import { eventually } from "@kapi/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

import { accountBody, call, create, createdAccount, deposit, getCommand, getWallet } from "./client.ts";
import { backdateRecord, TEST_RECORD_OPEN_MS, type Organization, type Platform, startPlatform } from "./platform.ts";

/** Requests below are answered within this time while a dependency is down (decisions, 1.5). */
const ANSWER_WITHIN_MS = 5_000;
/** Largest difference between the clocks of Redis and of this machine. */
const CLOCK_TOLERANCE_MS = 200;
const UNAVAILABLE = { status: 500, charged: 0, body: { error: "Internal server error" } };

let platform: Platform;
let organization: Organization;
const servers: Server[] = [];

beforeAll(async () => {
  platform = await startPlatform();
  organization = await platform.organization(100_000);
});
afterAll(() => platform.stop());
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A stand-in for a service, with the given behaviour. */
async function neighbour(behave: RequestListener): Promise<string> {
  const server = createServer(behave).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  const address = server.address();
  assert(address !== null && typeof address === "object", "the server has no TCP port");
  return `http://127.0.0.1:${address.port}`;
}

/**
 * The command ids of all messages in the topic of account commands.
 */
async function publishedCreations(): Promise<string[]> {
  const messages = (await everythingIn(TOPICS.commandsAccount)) as { commandId: string }[];
  return messages.map(({ commandId }) => commandId);
}

/** The settlements in the events of a command. */
async function settlements(commandId: string): Promise<unknown[]> {
  const events = (await everythingIn(TOPICS.commandEvents)) as { commandId: string; settlement: unknown }[];
  return events.flatMap((event) => (event.commandId === commandId && event.settlement ? [event.settlement] : []));
}

/** Parses every message of a topic. */
async function everythingIn(topic: TopicContract): Promise<unknown[]> {
  const values: unknown[] = [];
  const reader = await startLogReader(platform.kafka, {
    topic,
    from: "beginning",
    onBatch: (_partition, messages) => {
      for (const message of messages) values.push(JSON.parse(message.value.toString()));
    },
    logger: createLogger({ service: "test", level: "error" }),
    fatal: (error) => {
      throw error;
    },
  });
  await reader.value.caughtUp;
  await reader.stop();
  return values;
}

describe("a gateway killed in the middle of a creation", () => {
  it.each(["gateway.claimed", "gateway.published", "gateway.answered"])(
    "at %s: the retry gets the command and its credentials; the command runs once",
    async (point) => {
      const doomed = await platform.gatewayProcess({ FAULT_POINT: point });
      const key = randomUUID();
      const body = accountBody({ password: "supplied password" });
      const before = await getWallet(platform.url, organization);
      await expect(create(doomed.url, organization, key, body)).rejects.toThrow("fetch failed");
      expect(await doomed.ended).toBe("SIGKILL");

      const beganAt = Date.now();
      const retry = await create(platform.url, organization, key, body);
      expect(Date.now() - beganAt).toBeLessThan(TEST_RECORD_OPEN_MS + 1_000);
      expect(retry).toMatchObject({ status: 202, charged: 10, body: { duplicate: false } });
      expect(retry.body.credentials?.tradingPassword).toBe("supplied password");
      const again = await create(platform.url, organization, key, body);
      expect(again).toMatchObject({ status: 200, body: { duplicate: true } });
      expect(again.body).not.toHaveProperty("credentials");
      const commandId = retry.body.command.id;
      const final = await getCommand(platform.url, organization, commandId, 20);
      expect(final.body.command).toMatchObject({ status: "succeeded", attempts: 1 });
      const times = (await publishedCreations()).filter((id) => id === commandId).length;
      // The command is published twice only if it was published before the kill and was not final
      // at the retry.
      expect(times).toBeGreaterThanOrEqual(1);
      expect(times).toBeLessThanOrEqual(point === "gateway.claimed" ? 1 : 2);
      const after = await getWallet(platform.url, organization);
      // The creation, the repeat, the read, and the second read of the wallet.
      expect(before.availableCredits - after.availableCredits).toBe(10 + 1 + 1 + 1);
    },
  );

  it("with the reservation released afterwards: the retry reserves again, and the command is settled under the new charge id", async () => {
    const doomed = await platform.gatewayProcess({ FAULT_POINT: "gateway.claimed" });
    const key = randomUUID();
    const body = accountBody();
    await expect(create(doomed.url, organization, key, body)).rejects.toThrow("fetch failed");
    const commandId = commandIdOf(organization.id, key);
    // Releases the reservation as the organization service does for an orphan.
    const release = { organizationId: organization.id, chargeId: commandId, credits: 10, action: "release" as const };
    expect(await settle(platform.redis, [{ ...release, epoch: 2 }])).toEqual(["done"]);
    const before = await getWallet(platform.url, organization);
    const retry = await create(platform.url, organization, key, body);
    expect(retry).toMatchObject({ status: 202, charged: 10, body: { duplicate: false } });
    const after = await getWallet(platform.url, organization);
    expect(after.reservedCredits - before.reservedCredits).toBe(10);
    expect((await getCommand(platform.url, organization, commandId, 20)).body.command.status).toBe("succeeded");
    const chargeId = await platform.redis.commands.hget(recordKey(shardOf(organization.id), commandId), "charge");
    expect(await settlements(commandId)).toEqual([{ chargeId, credits: 10, action: "consume" }]);
    expect(chargeId).not.toBe(commandId);
  });

  it("leaves an idempotency record that exactly one of many equal retries reclaims; the command has the times of this retry", async () => {
    const doomed = await platform.gatewayProcess({ FAULT_POINT: "gateway.claimed" });
    const key = randomUUID();
    const body = accountBody();
    await expect(create(doomed.url, organization, key, body)).rejects.toThrow("fetch failed");
    await backdateRecord(platform, organization.id, commandIdOf(organization.id, key), 2 * COMMAND_DEADLINE_MS);
    const retriedAtMs = Date.now();
    const retries = await Promise.all(Array.from({ length: 10 }, () => create(platform.url, organization, key, body)));
    expect(retries.filter((retry) => retry.status === 200)).toHaveLength(9);
    const taken = retries.filter((retry) => retry.status === 202);
    expect(taken).toHaveLength(1);
    const { id, createdAt, deadlineAt } = taken[0]?.body.command ?? {};
    const final = await getCommand(platform.url, organization, id ?? "", 20);
    expect(final.body.command).toMatchObject({ status: "succeeded", createdAt, deadlineAt });
    expect(Date.parse(createdAt ?? "")).toBeGreaterThan(retriedAtMs - CLOCK_TOLERANCE_MS);
    expect(Date.parse(deadlineAt ?? "") - Date.parse(createdAt ?? "")).toBe(COMMAND_DEADLINE_MS);
  });
});

it.each([-10, 10])(
  "a gateway whose clock is wrong by %i minutes creates commands with the time of Redis",
  async (minutes) => {
    const offMs = minutes * 60_000;
    const url = await platform.gateway({}, { nowMs: () => Date.now() + offMs });
    const begunAtMs = Date.now();
    const accepted = await create(url, organization, randomUUID(), accountBody());
    expect(accepted.status).toBe(202);
    const { createdAt, deadlineAt } = accepted.body.command;
    expect(Math.abs(Date.parse(createdAt) - begunAtMs)).toBeLessThan(Math.abs(offMs) / 2);
    expect(Date.parse(deadlineAt ?? "") - Date.parse(createdAt)).toBe(COMMAND_DEADLINE_MS);
  },
);

describe("a gateway that is stopping", () => {
  it("answers requests that wait for a final state with the current command", async () => {
    const accountNumber = await createdAccount(platform.url, organization);
    // The service that executes deposits does not run here.
    const accepted = await deposit(platform.url, organization, accountNumber, randomUUID(), {
      amount: 1,
      requestId: "r",
    });
    const stopping = await platform.gatewayProcess({});
    const before = await getWallet(platform.url, organization);
    let looks = 1;
    const answer = getCommand(stopping.url, organization, accepted.body.command.id, 30);
    // The request has arrived as soon as more credits are spent than the reads of the wallet cost.
    await eventually(async () => {
      const { availableCredits } = await getWallet(platform.url, organization);
      return before.availableCredits - availableCredits > looks++;
    });
    stopping.process.kill("SIGTERM");
    expect(await answer).toMatchObject({ status: 200, body: { command: { status: "queued" } } });
    expect(await stopping.ended).toBeNull();
  });
});

describe("a dependency", () => {
  it("that does not answer: reads and mutations are 500 with Retry-After within 5 s, and free of charge", async () => {
    const accountNumber = await createdAccount(platform.url, organization);
    const silent = await neighbour(() => undefined);
    const deaf = await platform.gateway({ ACCOUNT_URL: silent, COMMAND_STATUS_URL: silent });
    const withoutStatus = await platform.gateway({ COMMAND_STATUS_URL: silent });
    const before = await getWallet(platform.url, organization);
    const server = `servers/${organization.server.serverId}`;
    const funds = { amount: 1, requestId: "r" };
    const key = randomUUID();
    const beganAt = Date.now();
    const answers = await Promise.all([
      getCommand(deaf, organization, randomUUID()),
      call(deaf, organization, `${server}/configuration`),
      call(deaf, organization, `${server}/accounts`),
      call(deaf, organization, `${server}/accounts/${accountNumber}`),
      create(deaf, organization, randomUUID()),
      deposit(withoutStatus, organization, accountNumber, key, funds),
    ]);
    expect(Date.now() - beganAt).toBeLessThan(ANSWER_WITHIN_MS);
    for (const answer of answers) {
      expect(answer).toMatchObject(UNAVAILABLE);
      expect(answer.headers.get("x-error-code")).toBe("DEPENDENCY_UNAVAILABLE");
      expect(answer.headers.get("retry-after")).toBe("1");
    }
    const after = await getWallet(platform.url, organization);
    expect(after.availableCredits).toBe(before.availableCredits - 1);
    expect((await deposit(platform.url, organization, accountNumber, key, funds)).status).toBe(202);
  });

  it("that interrupts a streamed list interrupts the response, which is free of charge", async () => {
    const account = await neighbour((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write('{"accounts":[', () => response.destroy());
    });
    const url = await platform.gateway({ ACCOUNT_URL: account });
    const own = await platform.organization(100);
    const path = `servers/${own.server.serverId}/accounts`;
    await expect.poll(async () => (await call(url, own, "credits/balance")).status).toBe(200);
    const before = await getWallet(platform.url, own);
    await expect(call(url, own, path)).rejects.toThrow();
    let looks = 0;
    await expect
      .poll(async () => {
        looks += 1;
        return (await getWallet(platform.url, own)).lifetimeConsumed - before.lifetimeConsumed - looks;
      })
      .toBe(0);
  });
});

describe("a very large list", () => {
  it.each(["identity", "gzip"])(
    "is read from the owner only as fast as the caller reads it, with the content encoding %s",
    async (encoding) => {
      // Random bytes, which compression does not make smaller.
      const chunk = randomBytes(64 * 1024);
      const chunks = 4_000;
      let sent = 0;
      const account = await neighbour((_request, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        const more = (): void => {
          while (sent < chunks) {
            sent += 1;
            if (!response.write(chunk)) return void response.once("drain", more);
          }
          response.end('{"accounts":[]}');
        };
        more();
      });
      const url = await platform.gateway({ ACCOUNT_URL: account });
      const answer = await fetch(`${url}/api/v1/management/servers/${organization.server.serverId}/accounts`, {
        headers: { authorization: `Management ${organization.managementKey}`, "accept-encoding": encoding },
      });
      expect(answer.headers.get("content-encoding")).toBe(encoding === "gzip" ? "gzip" : null);
      assert(answer.body !== null, "the response has no body");
      const reader = answer.body.getReader();
      await reader.read();
      let last = -1;
      await expect
        .poll(
          () => {
            const still = sent === last;
            last = sent;
            return still;
          },
          { interval: 200, timeout: 10_000 },
        )
        .toBe(true);
      expect(sent).toBeLessThan(chunks / 4);
      let bytes = 0;
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        bytes += value.byteLength;
      }
      expect(bytes).toBeGreaterThan(chunk.length * (chunks - 2));
    },
  );
});

// These two tests are last, because they delete the wallets of all earlier organizations.
it("an accepted command that Redis lost before command-status stored it is 500, never 404", async () => {
  const own = await platform.organization(100);
  const { commandId, url } = await acceptedButLost(own);
  const answer = await getCommand(url, own, commandId);
  expect(answer).toMatchObject({ status: 500, body: UNAVAILABLE.body });
  expect(answer.headers.get("x-error-code")).toBe("DEPENDENCY_UNAVAILABLE");
  expect(answer.headers.get("retry-after")).toBe("1");
});

/**
 * Queues a command, and starts a gateway whose command-status does not have the command yet. Redis
 * loses all data during the first read at this gateway.
 */
async function acceptedButLost(own: Organization): Promise<{ commandId: string; url: string }> {
  const accepted = await create(platform.url, own, randomUUID());
  expect(accepted.status).toBe(202);
  const { availableCredits } = await getWallet(platform.url, own);
  let charged: Promise<unknown> | undefined;
  const unaware = await neighbour((_request, response) => {
    charged ??= eventually(async () => expect(await availableNow(own)).toBeLessThan(availableCredits)).then(() =>
      platform.redis.commands.flushall(),
    );
    void charged.then(() => response.writeHead(200, { "content-type": "application/x-ndjson" }).end("\n"));
  });
  return { commandId: accepted.body.command.id, url: await platform.gateway({ COMMAND_STATUS_URL: unaware }) };
}

async function availableNow({ id }: Organization): Promise<number> {
  return Number(await platform.redis.commands.hget(walletKey(shardOf(id), id), "available"));
}

it("while Redis is down, and after it has restarted without data, requests are 500", async () => {
  const own = await platform.organization(100);
  await platform.environment.redis.crash();
  const beganAt = Date.now();
  const answer = await getCommand(platform.url, own, randomUUID());
  expect(answer).toMatchObject(UNAVAILABLE);
  expect(answer.headers.get("retry-after")).toBe("1");
  expect(Date.now() - beganAt).toBeLessThan(ANSWER_WITHIN_MS);
  await platform.environment.redis.restart({ wipe: true });
  await expect
    .poll(async () => (await call(platform.url, own, "credits/balance")).headers.get("x-error-code"), {
      timeout: 5_000,
    })
    .toBe("DEPENDENCY_UNAVAILABLE");
});
