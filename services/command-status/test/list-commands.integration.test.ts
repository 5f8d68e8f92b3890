import {
  Command,
  COMMAND_STATUSES,
  type AnyCommandMessage,
  CommandsAnswer,
  queuedCommand,
  TOPICS,
} from "@kapi/contracts";
import { startPool, type Database, statement } from "@kapi/postgres";
import { assertDefined } from "@kapi/kernel";
import { createLogger, type Started } from "@kapi/runtime";
import { commandMessage, eventually } from "@kapi/testkit";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

import { createCommandAges } from "../src/outbound/postgres/command-ages.ts";
import { createCommandRepository } from "../src/outbound/postgres/command-repository.ts";
import { createFinalCommandRepository } from "../src/outbound/postgres/command-lists.ts";
import {
  CommandWaiters,
  MAX_WAITERS,
  MAX_WAITERS_PER_ORGANIZATION,
  TooManyWaiters,
} from "../src/operations/wait-for-command.ts";
import { eventOf } from "./events.ts";
import { type Running, startRunning } from "./running.ts";

const Answer = z.object({ command: Command });
const HOUR_MS = 3_600_000;
let running: Running;
let database: Started<Database>;

beforeAll(async () => {
  running = await startRunning();
  database = await startPool({
    connectionString: running.environment.postgresUrl,
    schema: "command_status",
    applicationName: "test",
    logger: createLogger({ service: "test", level: "error" }),
  });
});
afterAll(async () => {
  await database.stop();
  await running.stop();
});

async function publish(
  messages: readonly AnyCommandMessage[],
  events: ReturnType<typeof eventOf>[] = [],
): Promise<void> {
  await Promise.all([
    ...messages.map((one) =>
      running.producer.send(TOPICS.commandsFinance, { key: one.commandId, value: JSON.stringify(one) }),
    ),
    ...events.map((one) =>
      running.producer.send(TOPICS.commandEvents, { key: one.commandId, value: JSON.stringify(one) }),
    ),
  ]);
  expect((await running.client.request("POST", "/internal/commands/caught-up", {})).status).toBe(200);
}

type Server = Pick<AnyCommandMessage, "organizationId" | "serverId">;
const anyServer = (): Server => ({ organizationId: randomUUID(), serverId: randomUUID() });

async function list(
  server: Server,
  query: Record<string, string | number> = {},
): Promise<z.infer<typeof CommandsAnswer>> {
  const text = new URLSearchParams({ organizationId: server.organizationId, ...asText(query) }).toString();
  const answer = await running.client.request("GET", `/internal/servers/${server.serverId}/commands?${text}`);
  expect(answer.status).toBe(200);
  return CommandsAnswer.parse(JSON.parse(answer.body.toString()));
}

function asText(query: Record<string, string | number>): Record<string, string> {
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]));
}

/** Stores commands of a server over three days, with all statuses; returns them newest first. */
async function filled(server: Server): Promise<Command[]> {
  const firstMs = Date.parse("2026-03-01T20:00:00.000Z");
  const operations = ["finance.deposit", "finance.withdraw", "account.update"] as const;
  const messages = Array.from({ length: 60 }, (_, index) =>
    commandMessage({
      ...server,
      // Pairs have the same time, so that the id decides their order.
      createdAt: new Date(firstMs + Math.floor(index / 2) * 3_600_000).toISOString(),
      operation: operations[index % 3] ?? "account.update",
      accountNumber: `1000000${index % 4}`,
      requestId: `request-${index % 5}`,
    }),
  );
  const events = messages.flatMap((message, index) => {
    const status = COMMAND_STATUSES[index % COMMAND_STATUSES.length] ?? "queued";
    return status === "queued"
      ? []
      : [eventOf(message, { status, errorCode: status === "failed" ? "INTERNAL" : null })];
  });
  await publish(messages, events);
  const { commands } = await list(server, { limit: 100 });
  expect(commands.map(({ id }) => id).toSorted()).toEqual(messages.map(({ commandId }) => commandId).toSorted());
  return commands;
}

const EMPTY = { page: 1, limit: 20, total: 0, totalPages: 0, nextCursor: null };

describe("the list of a server's commands", () => {
  it("shows each command as getCommand does, newest first, then by id", async () => {
    const server = anyServer();
    const commands = await filled(server);
    const order = (one: Command): string => `${one.createdAt} ${one.id}`;
    expect(commands).toEqual(commands.toSorted((a, b) => (order(a) < order(b) ? 1 : -1)));
    const message = commandMessage({ ...server, requestId: "alone" });
    await publish([message]);
    expect(await list(server, { requestId: "alone" })).toEqual({
      commands: [queuedCommand(message)],
      pagination: { page: 1, limit: 20, total: 1, totalPages: 1, nextCursor: null },
    });
  });

  it("has each command on exactly one page, and none after the last page", async () => {
    const server = anyServer();
    const commands = await filled(server);
    const pages = await Promise.all([1, 2, 3, 4, 5].map((page) => list(server, { page, limit: 15 })));
    expect(pages.flatMap((page) => page.commands)).toEqual(commands);
    expect(pages.map(({ pagination }) => pagination.total)).toEqual([60, 60, 60, 60, 60]);
    expect(
      (await list(server, { page: Number.MAX_SAFE_INTEGER.toString().slice(0, 15), limit: 100 })).commands,
    ).toEqual([]);
  });

  it("applies status, operation, account, request and times in all combinations, and counts the matches", async () => {
    const server = anyServer();
    const commands = await filled(server);
    const { from, to } = { from: "2026-03-01T23:00:00.000Z", to: "2026-03-02T22:00:00+01:00" };
    const kept: Record<string, (one: Command) => boolean> = {
      operation: (one) => one.operation === "finance.deposit",
      accountNumber: (one) => one.accountNumber === "10000001",
      requestId: (one) => one.requestId === "request-2",
      from: (one) => one.createdAt >= from,
      to: (one) => one.createdAt <= new Date(to).toISOString(),
    };
    const given = { operation: "finance.deposit", accountNumber: "10000001", requestId: "request-2", from, to };
    const names = Object.keys(kept);
    for (let chosen = 0; chosen < 2 ** names.length; chosen += 1) {
      const active = names.filter((_, index) => (chosen & (2 ** index)) !== 0);
      const query = Object.fromEntries(Object.entries(given).filter(([name]) => active.includes(name)));
      const left = commands.filter((one) => active.every((name) => kept[name]?.(one)));
      for (const status of [undefined, ...COMMAND_STATUSES]) {
        const expected = status === undefined ? left : left.filter((one) => one.status === status);
        const found = await list(server, { ...query, ...(status === undefined ? {} : { status }), limit: 100 });
        expect(found.commands, `${active.join()} ${status ?? ""}`).toEqual(expected);
        expect(found.pagination.total, `${active.join()} ${status ?? ""}`).toBe(expected.length);
      }
    }
    for (const one of commands.slice(0, 3)) {
      expect((await list(server, { idempotencyKey: one.idempotencyKey })).commands).toEqual([one]);
      expect((await list(server, { idempotencyKey: one.idempotencyKey, requestId: "no" })).commands).toEqual([]);
    }
  });

  it("is empty for another organization", async () => {
    const server = anyServer();
    await filled(server);
    for (const query of [
      {},
      { status: "failed" },
      { status: "succeeded" },
      { requestId: "request-1" },
      { from: "2026-01-01T00:00:00Z" },
    ]) {
      const found = await list({ ...server, organizationId: randomUUID() }, query);
      expect(found).toEqual({ commands: [], pagination: EMPTY });
    }
  });

  it("has a command only after its message has arrived, counts it once, and finds it by the account number of a later event", async () => {
    const server = anyServer();
    const message = commandMessage({ ...server, operation: "account.create", accountNumber: null });
    await publish([], [eventOf(message, { status: "leased", result: null })]);
    expect((await list(server)).pagination.total).toBe(0);
    await publish([message, message]);
    await publish([message]);
    await publish([], [eventOf(message, { version: 2, accountNumber: "10000009" })]);
    expect((await list(server)).pagination.total).toBe(1);
    expect((await list(server, { accountNumber: "10000009" })).commands).toMatchObject([{ id: message.commandId }]);
  });

  it("rejects an invalid query", async () => {
    const { organizationId, serverId } = anyServer();
    for (const query of [
      "",
      `organizationId=${organizationId}&page=0`,
      `organizationId=${organizationId}&status=done`,
    ]) {
      expect((await running.client.request("GET", `/internal/servers/${serverId}/commands?${query}`)).status).toBe(400);
    }
  });
});

it("the stored position of a partition only rises: a late write is stored, but does not lower the position", async () => {
  const repository = createCommandRepository(database.value);
  const at = (nextOffset: bigint) => ({ topic: "commands.test", partition: 0, nextOffset });
  const [newer, late, ended] = [commandMessage(), commandMessage(), commandMessage()];
  await repository.ingestMessages([newer], [at(9n)]);
  await repository.ingestMessages([late], [at(7n)]);
  await repository.ingestEvents([eventOf(ended)], [at(8n)]);
  expect(await repository.byIds([late.commandId])).toMatchObject([{ commandId: late.commandId }]);
  expect(await repository.positions()).toContainEqual(at(9n));
  await repository.ingestEvents([eventOf(late)], [at(10n)]);
  expect(await repository.positions()).toContainEqual(at(10n));
});

it("the query of the runbook finds the commands that wait, the oldest first", async () => {
  const { organizationId, serverId } = anyServer();
  const messages = ["1999-01-03", "1999-01-01", "1999-01-02"].map((day) =>
    commandMessage({ organizationId, serverId, createdAt: `${day}T00:00:00.000Z` }),
  );
  const [latest, earliest, done] = messages;
  await publish(messages, done === undefined ? [] : [eventOf(done)]);
  const query = statement<{ command_id: string }>("test_runbook", runbookQuery());
  const rows = await database.value.query(query, []);
  expect(rows.slice(0, 2)).toMatchObject([
    {
      command_id: earliest?.commandId,
      server_id: serverId,
      operation: "finance.deposit",
      status: "queued",
      attempts: 0,
    },
    { command_id: latest?.commandId, organization_id: organizationId, account_number: latest?.accountNumber },
  ]);
  expect(rows.map((row) => row.command_id)).not.toContain(done?.commandId);
});

it("the age of open commands ignores a command that closes positions, once its first attempt has begun", async () => {
  const completeAll = "update commands_by_month set status = 'succeeded' where status in ('queued', 'leased')";
  await database.value.query(statement<never>("test_complete_all", completeAll), []);
  const ages = createCommandAges(database.value, nextSecond());
  const ageOf = async (status: string) => (await ages()).find((state) => state.status === status)?.oldest_seconds ?? 0;
  const [leased, toRetry] = [
    { status: "leased", attempts: 1 },
    { status: "queued", attempts: 1, version: 2 },
  ] as const;
  const acceptedAgo = (hours: number) => new Date(Date.now() - hours * HOUR_MS).toISOString();
  const flatten = commandMessage({ operation: "account.flatten", payload: {}, createdAt: acceptedAgo(90) });
  const ofBreach = commandMessage({
    operation: "account.disable",
    payload: { flatten: true },
    createdAt: acceptedAgo(80),
  });
  const disable = commandMessage({ operation: "account.disable", payload: {}, createdAt: acceptedAgo(70) });
  await publish([flatten, ofBreach, disable]);
  expect(await ageOf("queued")).toBeGreaterThan(89 * 3_600);

  await publish([], [eventOf(flatten, leased), eventOf(ofBreach, leased), eventOf(disable, leased)]);
  expect(await ageOf("leased")).toBeLessThan(71 * 3_600);
  await publish([], [eventOf(flatten, toRetry), eventOf(ofBreach, toRetry), eventOf(disable, toRetry)]);
  expect(await ageOf("queued")).toBeGreaterThan(69 * 3_600);
  expect(await ageOf("queued")).toBeLessThan(71 * 3_600);
});

/** A clock on which a second passes between two readings. */
function nextSecond(): () => number {
  let nowMs = 0;
  return () => (nowMs += 1_000);
}

/** The query below "Find waiting commands" in docs/operate.md. */
function runbookQuery(): string {
  const runbook = readFileSync(new URL("../../../docs/operate.md", import.meta.url), "utf8");
  const query = /### Find waiting commands\n[^]*?```sql\n([^]*?);\n```/.exec(runbook)?.[1];
  return assertDefined(query, "the query in docs/operate.md");
}

describe("waiting for a command", () => {
  const wait = (one: Pick<AnyCommandMessage, "organizationId" | "commandId">, timeoutMs: number) =>
    running.client.request("POST", "/internal/commands/wait", {
      organizationId: one.organizationId,
      commandId: one.commandId,
      timeoutMs,
    });
  const commandIn = (answer: { body: Buffer }): Command => Answer.parse(JSON.parse(answer.body.toString())).command;

  it("returns once the command is final, or its current state at the timeout", async () => {
    const message = commandMessage();
    await publish([message]);
    expect(commandIn(await wait(message, 50)).status).toBe("queued");
    const waiting = wait(message, 10_000);
    const startedMs = Date.now();
    await publish([], [eventOf(message)]);
    expect(commandIn(await waiting).status).toBe("succeeded");
    expect(Date.now() - startedMs).toBeLessThan(5_000);
    expect(commandIn(await wait(message, 30_000)).status).toBe("succeeded");
  });

  it("also returns when another process ingested the final state", async () => {
    const message = commandMessage();
    await publish([message]);
    const startedMs = Date.now();
    const waiting = wait(message, 10_000);
    const end = statement(
      "test_end",
      "update commands_by_month set status = 'succeeded', version = 7 where command_id = $1",
    );
    await database.value.query(end, [message.commandId]);
    expect(commandIn(await waiting).status).toBe("succeeded");
    expect(Date.now() - startedMs).toBeLessThan(5_000);
  });

  it("is 404 long before the timeout for an unknown command or another organization's, and 400 above 30 s", async () => {
    const message = commandMessage();
    const startedMs = Date.now();
    expect((await wait(message, 20_000)).status).toBe(404);
    await publish([message]);
    expect((await wait({ ...message, organizationId: randomUUID() }, 20_000)).status).toBe(404);
    expect(Date.now() - startedMs).toBeLessThan(20_000);
    expect(
      (await running.client.request("POST", "/internal/commands/wait", { ...message, timeoutMs: 30_001 })).status,
    ).toBe(400);
  });

  it("is rejected above the limit, and possible again when other waits have ended", async () => {
    const waiters = new CommandWaiters();
    const any = (organizationId: string) => ({ organizationId, commandId: randomUUID() });
    const organizations = Array.from({ length: MAX_WAITERS / MAX_WAITERS_PER_ORGANIZATION }, () => randomUUID());
    const disconnect = new AbortController();
    const all = organizations.map((organizationId) => {
      const waits = Array.from({ length: MAX_WAITERS_PER_ORGANIZATION }, () =>
        waiters.wait(any(organizationId), "final", 60_000, disconnect.signal),
      );
      expect(() => waiters.wait(any(organizationId), "final", 1, disconnect.signal)).toThrow(TooManyWaiters);
      return Promise.all(waits);
    });
    expect(() => waiters.wait(any(randomUUID()), "final", 1, disconnect.signal)).toThrow(TooManyWaiters);
    await waiters.poll(createFinalCommandRepository(database.value));
    disconnect.abort();
    await Promise.all(all);
    await eventually(() => waiters.wait(any(randomUUID()), "final", 1, disconnect.signal).then(() => true));
  });

  it("frees its slot at once when its caller disconnects", async () => {
    const message = commandMessage();
    await publish([message]);
    // First the command must be stored: a wait for an unknown command ends within 50 ms.
    await eventually(async () => expect((await wait(message, 0)).status).toBe(200));
    const left = new AbortController();
    const { organizationId, commandId } = message;
    // One wait above the limit: once the other waits hold all slots, it is rejected. The other
    // waits last longer, so the first answer is this rejection.
    const waits = Array.from({ length: MAX_WAITERS_PER_ORGANIZATION + 1 }, () =>
      fetch(`${running.url}/internal/commands/wait`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-service-token": running.environment.secrets.serviceTokens.gateway,
        },
        body: JSON.stringify({ organizationId, commandId, timeoutMs: 30_000 }),
        signal: left.signal,
      }),
    );
    expect((await Promise.race(waits)).status).toBe(429);
    expect((await wait(message, 0)).status).toBe(429);
    left.abort();
    await Promise.allSettled(waits);
    const startedMs = Date.now();
    await eventually(async () => expect((await wait(message, 0)).status).toBe(200));
    expect(Date.now() - startedMs).toBeLessThan(5_000);
  });
});
