import { randomUUID } from "node:crypto";

import { type Command, type CommandEvent, CommandsAnswer, TOPICS } from "@kapi/contracts";
import { startProducer } from "@kapi/kafka";
import { commandMessage, eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { call, getCommand } from "./client.ts";
import { type Organization, type Platform, startPlatform } from "./platform.ts";

const RESULT_BYTES = 3_000_000;
/** The results of these exports are together larger than an internal response may be: 64 MiB. */
const EXPORTS = 24;

let platform: Platform;
let organization: Organization;
let ids: string[];

beforeAll(async () => {
  platform = await startPlatform();
  organization = await platform.organization(100_000);
  const producer = await startProducer(platform.kafka);
  const named = { organizationId: organization.id, serverId: organization.server.serverId };
  ids = [];
  for (let index = 0; index < EXPORTS; index += 1) {
    const message = commandMessage({ ...named, operation: "account.history_export" });
    ids.push(message.commandId);
    const { commandId, organizationId, serverId, accountNumber, managedAccountId, operation } = message;
    const end: CommandEvent = {
      commandId,
      organizationId,
      serverId,
      accountNumber,
      managedAccountId,
      operation,
      version: 1,
      status: "succeeded",
      attempts: 1,
      result: { records: "x".repeat(RESULT_BYTES) },
      errorCode: null,
      errorMessage: null,
      settlement: null,
      occurredAt: new Date().toISOString(),
    };
    await producer.value.send(TOPICS.commandsExport, { key: commandId, value: JSON.stringify(message) });
    await producer.value.send(TOPICS.commandEvents, { key: commandId, value: JSON.stringify(end) });
  }
  await producer.stop();
  await eventually(
    async () => {
      for (const id of ids)
        expect((await getCommand(platform.url, organization, id)).body.command?.status).toBe("succeeded");
    },
    { timeoutMs: 30_000, intervalMs: 200 },
  );
});
afterAll(() => platform.stop());

const bytesOf = ({ result }: Command): number => String(result?.["records"]).length;

describe("exports with large results", () => {
  it("read concurrently are complete", async () => {
    // Each export is read three times. The first few reads are separate calls to command-status.
    // The other reads share the next calls.
    const asked = [...ids, ...ids, ...ids];
    const answers = await Promise.all(asked.map((id) => getCommand(platform.url, organization, id)));
    expect(answers.map(({ status }) => status)).toEqual(asked.map(() => 200));
    expect(answers.map(({ body }) => body.command.id)).toEqual(asked);
    expect(answers.map(({ body }) => bytesOf(body.command))).toEqual(asked.map(() => RESULT_BYTES));
  });

  it("listed together are one complete page, for the read price; the list of an unknown server is 403", async () => {
    const path = `servers/${organization.server.serverId}/commands?limit=100`;
    const answer = await call(platform.url, organization, path);
    expect(answer).toMatchObject({ status: 200, charged: 1 });
    const { commands, pagination } = CommandsAnswer.parse(answer.body);
    expect(pagination).toEqual({ page: 1, limit: 100, total: EXPORTS, totalPages: 1, nextCursor: null });
    expect(commands.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    expect(commands.map(bytesOf)).toEqual(ids.map(() => RESULT_BYTES));
    const none = await call(platform.url, organization, `servers/${randomUUID()}/commands?limit=100`);
    expect(none.status).toBe(403);
  });
});
