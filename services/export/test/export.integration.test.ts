import { randomUUID } from "node:crypto";

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

import { Command, HistoryExport } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";
import { eventually } from "@kapi/testkit";

import { Harness } from "./harness.ts";
import { deal, order, position, transaction } from "./records.ts";

const NOON_MS = Date.UTC(2026, 4, 1, 12);
const at = (ms: number): string => toIso(NOON_MS + ms);

describe("an export of an account's history", () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await Harness.create();
  });
  afterAll(async () => {
    await harness.stop();
  });

  it("has transactions, orders, positions and deals in one list, newest first", async () => {
    const command = harness.command();
    const booked = [transaction(at(5)), transaction(at(1))];
    const traded = [deal(at(9)), position(at(5)), order(at(4))];
    harness.finance.answer(command.accountNumber, booked);
    harness.account.answer(command.accountNumber, traded);
    await harness.publish(command);
    const final = await harness.final(command.commandId);
    expect(final).toMatchObject({
      status: "succeeded",
      attempts: 1,
      settlement: { action: "consume", credits: 20, chargeId: command.commandId },
    });
    expect(final.result).toEqual({
      from: null,
      to: null,
      recordCount: 5,
      truncated: false,
      records: [traded[0], booked[0], traded[1], traded[2], booked[1]],
    });
    expect(HistoryExport.parse(final.result)).toEqual(final.result);
  });

  it("asks each owner for one record more than requested, within the given times", async () => {
    const payload = { from: at(0), to: at(9), limit: 2 };
    const command = harness.command({ payload });
    harness.finance.answer(command.accountNumber, [transaction(at(5)), transaction(at(1))]);
    harness.account.answer(command.accountNumber, [order(at(4))]);
    await harness.publish(command);
    expect((await harness.final(command.commandId)).result).toMatchObject({
      from: at(0),
      to: at(9),
      recordCount: 2,
      truncated: true,
      records: [{ recordedAt: at(5) }, { kind: "order", createdAt: at(4) }],
    });
    const { serverId } = harness.server;
    const query = new URLSearchParams({ from: at(0), to: at(9), limit: "3" }).toString();
    const path = `/internal/servers/${serverId}/accounts/${command.accountNumber}/history?${query}`;
    expect(harness.finance.asked.filter((asked) => asked.includes(command.accountNumber))).toEqual([path]);
    expect(harness.account.asked.filter((asked) => asked.includes(command.accountNumber))).toEqual([path]);
  });

  it("of an account without any history is empty", async () => {
    const command = harness.command();
    await harness.publish(command);
    const result = { from: null, to: null, recordCount: 0, truncated: false, records: [] };
    expect(await harness.final(command.commandId)).toMatchObject({ status: "succeeded", result });
  });

  it("fails with ACCOUNT_NOT_FOUND if one owner does not know the account", async () => {
    for (const owner of [harness.account, harness.finance]) {
      const command = harness.command();
      owner.answer(command.accountNumber, 404);
      await harness.publish(command);
      expect(await harness.final(command.commandId)).toMatchObject({
        status: "failed",
        errorCode: "ACCOUNT_NOT_FOUND",
        settlement: { action: "consume" },
      });
    }
  });

  it.each([
    ["is unavailable", 500],
    ["answers that too many calls of the organization wait", 429],
  ])("is tried again while an owner %s, and delays no other account", async (_state, status) => {
    const command = harness.command();
    harness.account.answer(command.accountNumber, status);
    await harness.publish(command);
    await eventually(() => harness.eventsOf(command.commandId).some((event) => event.status === "queued"));
    const other = harness.command();
    await harness.publish(other);
    expect((await harness.final(other.commandId)).status).toBe("succeeded");
    harness.account.answer(command.accountNumber, [order(at(1))]);
    const final = await harness.final(command.commandId);
    expect(final).toMatchObject({ status: "succeeded", result: { recordCount: 1 } });
    expect(final.attempts).toBeGreaterThan(1);
  });

  it("expires without charge if an owner is unavailable until the command's deadline", async () => {
    const command = harness.command({ deadlineAt: toIso(Date.now() + 1_500) });
    harness.finance.answer(command.accountNumber, 503);
    await harness.publish(command);
    expect(await harness.final(command.commandId)).toMatchObject({
      status: "expired",
      settlement: { action: "release", credits: 20 },
    });
  });

  it("fails without a request to any owner if its server is disabled or its payload is malformed", async () => {
    const disabled = { ...harness.server, serverId: randomUUID(), status: "disabled" as const };
    await harness.publishServer(disabled);
    const elsewhere = harness.command({ serverId: disabled.serverId });
    const malformed = harness.command({ payload: { limit: 0 } });
    await harness.publish(elsewhere, malformed);
    expect(await harness.final(elsewhere.commandId)).toMatchObject({ status: "failed", errorCode: "SERVER_DISABLED" });
    expect(await harness.final(malformed.commandId)).toMatchObject({ status: "failed", errorCode: "INTERNAL" });
    const requests = [...harness.account.asked, ...harness.finance.asked];
    for (const { accountNumber } of [elsewhere, malformed]) {
      expect(requests.some((asked) => asked.includes(accountNumber))).toBe(false);
    }
  });

  it("has one final event, also if its message is repeated", async () => {
    const command = harness.command();
    await harness.publish(command, command);
    await harness.final(command.commandId);
    await harness.publish(command);
    const last = harness.command({ accountNumber: command.accountNumber });
    await harness.publish(last);
    await harness.final(last.commandId);
    expect(harness.eventsOf(command.commandId).filter(({ settlement }) => settlement !== null)).toHaveLength(1);
  });

  describe("that is large", () => {
    const ReadLine = z.object({ command: Command });

    /** Waits until the command is `succeeded` in command-status; returns it. */
    async function storedCommand(commandId: string): Promise<z.output<typeof Command>> {
      const { organizationId } = harness.server;
      const body = { reads: [{ organizationId, commandId }] };
      return eventually(async () => {
        const answer = await harness.commandStatus.request("POST", "/internal/commands/read", body);
        const text = answer.body.toString("utf8");
        const { command } = ReadLine.parse(JSON.parse(text));
        return command.status === "succeeded" && command;
      });
    }

    /**
     * Publishes an export of 1,000 transactions with this description, then a small export; waits
     * for both.
     */
    async function exported(description: string) {
      const command = harness.command();
      const records = Array.from({ length: 1_000 }, (_, index) =>
        transaction(at(-index), { sequence: 1_000 - index, description, requestId: "x".repeat(100) }),
      );
      harness.finance.answer(command.accountNumber, records);
      const behind = harness.command();
      await harness.publish(command, behind);
      return { records, final: await harness.final(command.commandId), behind: await harness.final(behind.commandId) };
    }

    it("arrives complete: 1,000 records with 250 characters of four bytes each", async () => {
      const { records, final, behind } = await exported("\u{1F4B0}".repeat(250));
      expect(behind.status).toBe("succeeded");
      expect(final).toMatchObject({ status: "succeeded", result: { recordCount: 1_000, truncated: false } });
      expect(Buffer.byteLength(JSON.stringify(final))).toBeGreaterThan(1_048_576);
      expect(final.result?.["records"]).toEqual(records);
      expect((await storedCommand(final.commandId)).result).toEqual(final.result);
    });

    it("beyond the size limit is truncated, and later messages are published", async () => {
      const { final, behind } = await exported("\u{1F4B0}".repeat(5_000));
      expect(behind.status).toBe("succeeded");
      const { recordCount, truncated } = HistoryExport.parse(final.result);
      expect(truncated).toBe(true);
      expect(recordCount).toBeGreaterThan(100);
      expect((await storedCommand(final.commandId)).result).toEqual(final.result);
    });
  });
});
