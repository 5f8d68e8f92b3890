/** What a receiver was sent is found under the trace of what caused it. */
import { randomBytes, randomUUID } from "node:crypto";

import { TOPICS } from "@kapi/contracts";
import { type KeptSpan, recordSpans, type SpanRecorder } from "@kapi/testkit/spans";
import { eventually } from "@kapi/testkit";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { anyOwner, transaction } from "./facts.ts";
import { Receiver, status } from "./receiver.ts";
import { World } from "./world.ts";

const CAUSE = "b7ad6b7169203331";
const FIRST_REST_MS = 5_000;

let world: World;
let recorder: SpanRecorder;
let receiver: Receiver;

beforeAll(async () => {
  // Before the service: it looks at its start whether anybody traces.
  recorder = recordSpans();
  world = await World.start();
});
afterAll(async () => {
  await world.stop();
  recorder.stop();
});
beforeEach(async () => {
  receiver = await Receiver.start();
});
afterEach(() => receiver.stop());

const fact = () => transaction({ ...anyOwner(), organizationId: world.organizationId });
const headerAt = (index: number): string | undefined => receiver.received[index]?.headers["traceparent"];
const ofTrace = (traceId: string, name: string): KeptSpan[] =>
  recorder.spans.filter((span) => span.traceId === traceId && span.name === name);

async function publishTraced(value: object): Promise<string> {
  const traceId = randomBytes(16).toString("hex");
  const traceparent = `00-${traceId}-${CAUSE}-01`;
  await world.producer.send(TOPICS.financeEvents, { key: "one", value: JSON.stringify(value), traceparent });
  return traceId;
}

describe("an attempt to deliver", () => {
  it("stands beneath the event that it tells of, the first and one that is made later, and tells the receiver its own name", async () => {
    receiver.answer = status(503);
    const { id } = await world.createEndpoint({ url: receiver.url });
    const event = fact();
    const traceId = await publishTraced(event);
    await world.attempted(id, 1);
    receiver.answer = status(200);
    // The next one is found in the database, as any process would find it.
    world.clock.advance(FIRST_REST_MS);
    await world.attempted(id, 2);

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

  it("of an event that belongs to no trace tells of none, also beside one that does", async () => {
    await world.createEndpoint({ url: receiver.url });
    const [traced, other] = [fact(), fact()];
    const [traceId] = await Promise.all([publishTraced(traced), world.publish(TOPICS.financeEvents, other)]);
    await eventually(() => expect(receiver.received).toHaveLength(2));
    const names = new Map(receiver.received.map(({ headers }) => [headers["webhook-id"], headers["traceparent"]]));
    expect(names.get(traced.eventId)).toContain(traceId);
    expect(names.get(other.eventId)).toBeUndefined();
  });

  it("of a test that somebody asks for stands beneath that request", async () => {
    const { id } = await world.createEndpoint({ url: receiver.url });
    const traceId = randomUUID().replaceAll("-", "");
    const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
    const path = `/internal/organizations/${world.organizationId}/webhooks/${id}/test`;
    await world.client.request("POST", path, undefined, { headers: { traceparent } });
    await eventually(() => expect(receiver.received).toHaveLength(1));
    const [asked] = ofTrace(traceId, "POST /internal/organizations/:organizationId/webhooks/:endpointId/test");
    const [sent] = ofTrace(traceId, "deliver webhook");
    expect(sent).toMatchObject({ parentId: asked?.spanId });
    expect(headerAt(0)).toBe(`00-${traceId}-${sent?.spanId}-01`);
  });
});
