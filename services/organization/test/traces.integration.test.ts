/** Charges and changes of the directory are recorded in the trace of their request. */
import { SCOPES, TOPICS } from "@kapi/contracts";
import { outboxAge } from "@kapi/outbox";
import { ALL_SHARDS, readUsage } from "@kapi/admission/redis";
import { startRequestSpan } from "@kapi/runtime";
import { type KeptSpan, recordSpans, type SpanRecorder } from "@kapi/testkit/spans";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";

import { createKey } from "../src/operations/directory/create-key.ts";
import { recordAllUsage } from "../src/operations/credits/record-usage.ts";
import { finish, NOBODY, organizationWith, read, reserve, startLedger, type LedgerHarness } from "./support.ts";

const REQUEST_SPAN = "b7ad6b7169203331";

let harness: LedgerHarness;
let recorder: SpanRecorder;

beforeAll(async () => {
  harness = await startLedger();
  recorder = recordSpans();
});
afterAll(async () => {
  recorder.stop();
  await harness.stop();
});

let traces = 0;
/** A span of a new trace, in the form in which a request sends it to Redis. */
function requestSpan(): { traceId: string; traceparent: string } {
  traces += 1;
  const traceId = String(traces).padStart(32, "0");
  return { traceId, traceparent: `00-${traceId}-${REQUEST_SPAN}-01` };
}

const ofTrace = (traceId: string): readonly KeptSpan[] => recorder.spans.filter((span) => span.traceId === traceId);

/** The last message that was published under a key. */
const publishedAs = (key: string) => harness.kafka.taken.findLast((message) => message.key === key);

test("a charge and the credits event that it causes are in the trace of the request; a charge without a trace makes no span", async () => {
  const { context } = harness;
  const [organizationId, other] = [await organizationWith(harness, 10, 9), await organizationWith(harness, 10, 9)];
  const { traceId, traceparent } = requestSpan();
  await Promise.all([read(context, organizationId, 1, traceparent), read(context, other, 1)]);
  expect([...(await readUsage(context.redis, ALL_SHARDS, 10)).replies.values()].flat()).toHaveLength(2);
  const before = recorder.spans.length;
  await recordAllUsage(context, ALL_SHARDS);
  const [taken] = ofTrace(traceId);
  expect(taken).toMatchObject({ name: "process usage", parentId: REQUEST_SPAN, ended: true });
  expect(taken?.attributes).toMatchObject({ "kapi.operation": "getCommand", "kapi.request.id": "request" });
  expect(recorder.spans).toHaveLength(before + 1);
  expect(publishedAs(organizationId)).toMatchObject({
    topic: TOPICS.creditsEvents.name,
    traceparent: `00-${traceId}-${taken?.spanId}-01`,
  });
});

test("charges in one batch are each recorded in their own trace", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 10);
  const requests = [requestSpan(), requestSpan()];
  for (const { traceparent } of requests) await read(context, organizationId, 1, traceparent);
  await recordAllUsage(context, ALL_SHARDS);
  const taken = requests.map(({ traceId }) => ofTrace(traceId).find(({ name }) => name === "process usage"));
  expect(taken.map((span) => span?.parentId)).toEqual([REQUEST_SPAN, REQUEST_SPAN]);
  const batchSpan = ofTrace(requests[0]?.traceId ?? "").find(({ name }) => name === "record usage");
  expect(batchSpan).toMatchObject({ parentId: taken[0]?.spanId, links: taken.map((span) => span?.spanId) });
});

test("a reservation that is recorded with its settlement is in the trace of its request", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 10);
  const { traceId, traceparent } = requestSpan();
  const commandId = await reserve(context, organizationId, 5, undefined, traceparent);
  await finish(context, organizationId, commandId, 5);
  expect(ofTrace(traceId)).toMatchObject([{ name: "process usage", parentId: REQUEST_SPAN, ended: true }]);
});

test("a change of the directory is published in the trace of its request; the age of a waiting change is measured", async () => {
  const { context, database, kafka } = harness;
  const organizationId = await organizationWith(harness, 0);
  await eventually(async () => expect(await outboxAge(database)).toBe(0));
  const { traceId, traceparent } = requestSpan();
  const request = startRequestSpan("POST /keys", traceparent, "r-1");
  const wanted = { name: "", organizationId, scopes: [...SCOPES], serverIds: null, expiresAt: null, rateLimit: null };
  kafka.isUnavailable = true;
  const operator = { ...context, publish: () => Promise.resolve() };
  const made = await request?.run(() => createKey(operator, wanted, NOBODY));
  expect(await outboxAge(database)).toBeGreaterThan(0);
  const [asked] = ofTrace(traceId);
  kafka.isUnavailable = false;
  const message = await eventually(() => publishedAs(`key/${made?.key.keyId}`) ?? false, { timeoutMs: 15_000 });
  expect(message).toMatchObject({
    topic: TOPICS.organizationDirectory.name,
    traceparent: `00-${traceId}-${asked?.spanId}-01`,
  });
});
