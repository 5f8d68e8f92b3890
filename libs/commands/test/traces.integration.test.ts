import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { AnyCommandMessage } from "@kapi/contracts";
import { type KeptSpan, recordSpans, type SpanRecorder } from "@kapi/testkit/spans";
import { commandMessage, eventually } from "@kapi/testkit";

import { Harness } from "./harness.ts";

const SPAN_ID = "b7ad6b7169203331";

function inTrace(traceId: string): string {
  return `00-${traceId}-${SPAN_ID}-01`;
}

describe("the trace of a command", () => {
  let recorder: SpanRecorder;
  let harness: Harness;
  beforeAll(async () => {
    recorder = recordSpans();
    harness = await Harness.create();
    await harness.startWorker();
  });
  afterAll(async () => {
    await harness.stop();
    recorder.stop();
  });

  const spansOf = (traceId: string, name: string): KeptSpan[] =>
    recorder.spans.filter((span) => span.traceId === traceId && span.name === name);

  it("continues in the process that takes the command over from a stopped process", async () => {
    const traceId = "1".repeat(32);
    const message = commandMessage();
    harness.tradingServer.behave(message.accountNumber ?? "", "unreachable");
    await harness.publishIn(inTrace(traceId), message);
    await harness.until(message.commandId, "queued");
    await harness.stopWorker();
    harness.tradingServer.behave(message.accountNumber ?? "", "apply");
    await harness.startWorker();
    await harness.until(message.commandId, "succeeded");

    const [sent] = spansOf(traceId, "send commands.finance");
    const [taken] = spansOf(traceId, "process commands.finance");
    const attempts = spansOf(traceId, "execute finance.deposit");
    expect(sent?.parentId).toBe(SPAN_ID);
    expect(taken?.parentId).toBe(sent?.spanId);
    expect(attempts.length).toBeGreaterThanOrEqual(2);
    for (const attempt of attempts) expect(attempt).toMatchObject({ parentId: taken?.spanId, ended: true });
    // The final event is a child of the attempt that made it.
    await eventually(() =>
      expect(spansOf(traceId, "send command.events").at(-1)?.parentId).toBe(attempts.at(-1)?.spanId),
    );
  });

  it("stays separate in a batch with other commands, and is absent for an untraced command", async () => {
    const openGate = harness.tradingServer.closeGate();
    // Two running batches are the server's maximum; the other commands gather for the next one.
    const [one, two, three] = ["2", "3", "4"].map((digit) => digit.repeat(32)) as [string, string, string];
    const { serverId } = commandMessage();
    const command = (): AnyCommandMessage => commandMessage({ serverId });
    const first = [command(), command()];
    for (const message of first) {
      await harness.publish(message);
      await eventually(async () => expect(await harness.row(message.commandId)).toBeDefined());
    }
    const traced = [one, two, three].map((traceId) => ({ traceId, message: command() }));
    const untraced = command();
    await harness.publish(untraced);
    for (const { traceId, message } of traced) await harness.publishIn(inTrace(traceId), message);
    await eventually(async () => expect(await harness.countOf(serverId)).toBe(6));
    openGate();
    await Promise.all(
      [...traced.map(({ message }) => message), untraced].map((m) => harness.until(m.commandId, "succeeded")),
    );

    for (const { traceId, message } of traced) {
      const attempts = spansOf(traceId, "execute finance.deposit");
      expect(attempts.map(({ attributes }) => attributes["kapi.command.id"])).toEqual([message.commandId]);
    }
    const batches = recorder.spans.filter(({ name, links }) => name === "execute commands" && links.length === 3);
    expect(batches).toHaveLength(1);
    expect(recorder.spans.some(({ attributes }) => attributes["kapi.command.id"] === untraced.commandId)).toBe(false);
  });
});
