import { type AnyCommandMessage, CommandsAnswer, TOPICS } from "@kapi/contracts";
import { commandMessage } from "@kapi/testkit";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { eventOf } from "./events.ts";
import { type Running, startRunning } from "./running.ts";

const RESULT_BYTES = 3_000_000;
const EXPORTS = 24;
/** Maximum size of an answer: 16 MiB of large results, and all small ones. */
const MAX_ANSWER_BYTES = 17_500_000;
/** Number of exports that fit into one answer. */
const FITTING = 5;

let running: Running;
let exports: AnyCommandMessage[];
let small: AnyCommandMessage;

// The exports are together larger than the maximum answer of one internal call, 64 MiB.
beforeAll(async () => {
  running = await startRunning();
  const server = { organizationId: randomUUID(), serverId: randomUUID() };
  exports = Array.from({ length: EXPORTS }, () => commandMessage({ ...server, operation: "account.history_export" }));
  small = commandMessage({ ...server, operation: "finance.deposit" });
  for (const message of [...exports, small]) {
    const value = JSON.stringify(message);
    await running.producer.send(TOPICS.commandsExport, { key: message.commandId, value });
    const result = message === small ? {} : { result: { records: "x".repeat(RESULT_BYTES) } };
    const event = JSON.stringify(eventOf(message, result));
    await running.producer.send(TOPICS.commandEvents, { key: message.commandId, value: event });
  }
  expect((await running.client.request("POST", "/internal/commands/caught-up", {})).status).toBe(200);
});
afterAll(() => running.stop());

/** The lines of one read. */
async function read(messages: readonly AnyCommandMessage[]): Promise<string[]> {
  const reads = messages.map(({ organizationId, commandId }) => ({ organizationId, commandId }));
  const { status, body } = await running.client.request("POST", "/internal/commands/read", { reads });
  expect(status).toBe(200);
  expect(body.length).toBeLessThan(MAX_ANSWER_BYTES);
  return body.toString().split("\n").slice(0, -1);
}

const isLater = (line: string): boolean => line === '"later"';
const idOf = (line: string): string => (JSON.parse(line) as { command: { id: string } }).command.id;

describe("commands with large results", () => {
  it("are returned as far as they fit into an answer, but small commands always; further requests return the rest", async () => {
    let asked = [...exports, small];
    expect(idOf((await read(asked)).at(-1) ?? "")).toBe(small.commandId);
    const answered: string[] = [];
    while (asked.length > 0) {
      const lines = await read(asked);
      answered.push(...lines.filter((line) => !isLater(line)).map(idOf));
      const left = asked.filter((_message, index) => isLater(lines[index] ?? ""));
      expect(left.length).toBeLessThan(asked.length);
      asked = left;
    }
    expect(answered.toSorted()).toEqual([...exports, small].map(({ commandId }) => commandId).toSorted());
  });

  it("count towards the limit of an answer as often as the request names them", async () => {
    const [one = small] = exports;
    const lines = await read(Array.from({ length: 500 }, () => one));
    expect(lines.filter((line) => !isLater(line)).map(idOf)).toEqual(
      Array.from({ length: FITTING }, () => one.commandId),
    );
    expect(lines).toHaveLength(500);
  });

  it("are limited in a look-up, too", async () => {
    const commandIds = [...exports, small].map(({ commandId }) => commandId);
    const { body } = await running.client.request("POST", "/internal/commands/lookup", { commandIds });
    expect(body.length).toBeLessThan(MAX_ANSWER_BYTES);
    const { commands } = JSON.parse(body.toString()) as { commands: ("later" | { command: { id: string } })[] };
    const found = commands.map((one) => (one === "later" ? one : one.command.id));
    expect(found.filter((one) => one !== "later")).toEqual([...commandIds.slice(0, FITTING), small.commandId]);
    expect(found).toHaveLength(EXPORTS + 1);
  });

  it("that are too large for one page are 413 in the list, and are streamed in order; smaller pages need no stream", async () => {
    const { organizationId, serverId } = small;
    const path = `/internal/servers/${serverId}/commands`;
    expect((await running.client.request("GET", `${path}?organizationId=${organizationId}&limit=100`)).status).toBe(
      413,
    );
    const stream = await running.client.stream("GET", `${path}/stream?organizationId=${organizationId}&limit=100`);
    expect(stream.status).toBe(200);
    const chunks: Buffer[] = [];
    for await (const chunk of stream.body) chunks.push(chunk as Buffer);
    const streamed = CommandsAnswer.parse(JSON.parse(Buffer.concat(chunks).toString()));
    expect(streamed.pagination).toMatchObject({ total: EXPORTS + 1, limit: 100 });
    expect(streamed.commands.filter(({ result }) => String(result?.["records"]).length === RESULT_BYTES)).toHaveLength(
      EXPORTS,
    );
    const pages: string[] = [];
    for (let page = 1; page <= EXPORTS + 1; page += 1) {
      const one = await running.client.request("GET", `${path}?organizationId=${organizationId}&limit=1&page=${page}`);
      expect(one.status).toBe(200);
      pages.push(...CommandsAnswer.parse(JSON.parse(one.body.toString())).commands.map(({ id }) => id));
    }
    expect(streamed.commands.map(({ id }) => id)).toEqual(pages);
  });
});
