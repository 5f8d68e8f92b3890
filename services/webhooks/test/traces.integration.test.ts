/** Deliveries are part of the trace of their cause. */
import { randomBytes, randomUUID } from "node:crypto";

import { TOPICS } from "@kapi/contracts";
import { type KeptSpan, recordSpans, type SpanRecorder } from "@kapi/testkit/spans";
import { eventually } from "@kapi/testkit";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { anyOwner, transaction } from "./event-messages.ts";
import { Receiver, status } from "./receiver.ts";
import { Harness } from "./harness.ts";

/** Span id of the cause. */
const CAUSE_ID = "b7ad6b7169203331";
const FIRST_RETRY_DELAY_MS = 5_000;

let harness: Harness;
let recorder: SpanRecorder;
let receiver: Receiver;

beforeAll(async () => {
  // Must precede the service, which checks at its start whether tracing is on.
  recorder = recordSpans();
  harness = await Harness.start();
});
afterAll(async () => {
  await harness.stop();
  recorder.stop();
});
beforeEach(async () => {
  receiver = await Receiver.start();
});
afterEach(() => receiver.stop());

const newEvent = () => transaction({ ...anyOwner(), organizationId: harness.organizationId });
const headerAt = (index: number): string | undefined => receiver.received[index]?.headers["traceparent"];
const ofTrace = (traceId: string, name: string): KeptSpan[] =>
  recorder.spans.filter((span) => span.traceId === traceId && span.name === name);

async function publishTraced(value: object): Promise<string> {
  const traceId = randomBytes(16).toString("hex");
  const traceparent = `00-${traceId}-${CAUSE_ID}-01`;
  await harness.producer.send(TOPICS.financeEvents, { key: "one", value: JSON.stringify(value), traceparent });
  return traceId;
}

describe("an attempt to deliver", () => {
  it("is a child span of the processing of the event, also when retried, and sends the traceparent of its own span", async () => {
    receiver.answer = status(503);
    const { id } = await harness.createEndpoint({ url: receiver.url });
    const event = newEvent();
    const traceId = await publishTraced(event);
    await harness.attempted(id, 1);
    receiver.answer = status(200);
    // The retry is leased from the database, so any process could send it.
    harness.clock.advance(FIRST_RETRY_DELAY_MS);
    await harness.attempted(id, 2);

    const [taken] = ofTrace(traceId, "process finance.events");
    const attempts = ofTrace(traceId, "deliver webhook");
    expect(attempts.map(({ attributes }) => attributes)).toMatchObject([
      {
        "kapi.webhook.attempt": 1,
        "http.response.status_code": 503,
        "error.type": "503",
        "server.address": "127.0.0.1",
      },
      { "kapi.webhook.attempt": 2, "http.response.status_code": 200, "kapi.webhook.event.id": event.eventId },
    ]);
    for (const [index, { parentId, spanId, ended }] of attempts.entries()) {
      expect(parentId).toBe(taken?.spanId);
      expect(headerAt(index)).toBe(`00-${traceId}-${spanId}-01`);
      expect(ended).toBe(true);
    }
  });

  it("of an event without a trace sends no traceparent, also if a traced event was published at the same time", async () => {
    await harness.createEndpoint({ url: receiver.url });
    const [traced, other] = [newEvent(), newEvent()];
    const [traceId] = await Promise.all([publishTraced(traced), harness.publish(TOPICS.financeEvents, other)]);
    await eventually(() => expect(receiver.received).toHaveLength(2));
    const traceparents = new Map(
      receiver.received.map(({ headers }) => [headers["webhook-id"], headers["traceparent"]]),
    );
    expect(traceparents.get(traced.eventId)).toContain(traceId);
    expect(traceparents.get(other.eventId)).toBeUndefined();
  });

  it("of a test event is a child span of the request", async () => {
    const { id } = await harness.createEndpoint({ url: receiver.url });
    const traceId = randomUUID().replaceAll("-", "");
    const traceparent = `00-${traceId}-${CAUSE_ID}-01`;
    const path = `/internal/organizations/${harness.organizationId}/webhooks/${id}/test`;
    await harness.client.request("POST", path, undefined, { headers: { traceparent } });
    await eventually(() => expect(receiver.received).toHaveLength(1));
    const [asked] = ofTrace(traceId, "POST /internal/organizations/:organizationId/webhooks/:endpointId/test");
    const [sent] = ofTrace(traceId, "deliver webhook");
    expect(sent).toMatchObject({ parentId: asked?.spanId });
    expect(headerAt(0)).toBe(`00-${traceId}-${sent?.spanId}-01`);
  });
});
