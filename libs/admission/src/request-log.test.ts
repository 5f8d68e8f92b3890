import { LoggedRequests, TOPICS } from "@kapi/contracts";
import { createLogger } from "@kapi/runtime";
import { TestClock } from "@kapi/testkit";
import { describe, expect, it } from "vitest";

import {
  BufferedRequestLog,
  MAX_BUFFERED_REQUESTS,
  MAX_LOGGED_CHANGES_PER_SECOND,
  MAX_LOGGED_READS_PER_SECOND,
  type RequestToLog,
} from "./request-log.ts";

const ORGANIZATION = "0197a3c2-6d20-7a10-8b3f-91c5e07d2a01";
const START_MS = Date.parse("2026-03-02T10:00:00.000Z");
const MINUTE_MS = 60_000;
const logger = createLogger({ service: "request-log-test", level: "silent" });

function requestOf(fields: Partial<RequestToLog> = {}): RequestToLog {
  return {
    organizationId: ORGANIZATION,
    atMs: START_MS,
    requestId: "request-1",
    operation: "getCreditBalance",
    method: "GET",
    serverId: null,
    accountNumber: null,
    status: 200,
    errorCode: null,
    durationMs: 3,
    actor: { type: "key", id: "abcdefgh234567ab" },
    address: "192.0.2.1",
    creditsCharged: 1,
    commandId: null,
    ...fields,
  };
}

function start() {
  const clock = new TestClock(START_MS);
  const published: LoggedRequests[] = [];
  const kafka = { isAvailable: true };
  const log = new BufferedRequestLog({
    clock,
    logger,
    producer: {
      send: (topic, { key, value }) => {
        if (!kafka.isAvailable) return Promise.reject(new Error("Kafka is unavailable"));
        expect(topic).toBe(TOPICS.apiRequests);
        const record = LoggedRequests.parse(JSON.parse(String(value)));
        expect(key).toBe(record.organizationId);
        published.push(record);
        return Promise.resolve({ partition: 0, offset: 0n });
      },
    },
  });
  const requests = () => published.flatMap((record) => record.requests);
  const omitted = () => published.flatMap((record) => record.omitted);
  return { clock, published, kafka, log, requests, omitted };
}

const times = (count: number, work: (index: number) => void): void => {
  for (let index = 0; index < count; index += 1) work(index);
};

describe("the request log", () => {
  it("publishes the requests of an organization in one record, with the time of the last use of their key", async () => {
    const { log, published } = start();
    log.add(requestOf());
    log.add(requestOf({ atMs: START_MS + 7, address: "192.0.2.9" }));
    await log.publish();
    expect(published).toHaveLength(1);
    expect(published[0]).toMatchObject({
      organizationId: ORGANIZATION,
      requests: [{ requestId: "request-1", status: 200 }, { address: "192.0.2.9" }],
      keyUses: [{ keyId: "abcdefgh234567ab", at: "2026-03-02T10:00:00.007Z", address: "192.0.2.9" }],
      omitted: [],
    });
  });

  it("still logs changes and errors when there are more successful reads than the limit", async () => {
    const { log, requests } = start();
    times(MAX_LOGGED_READS_PER_SECOND + 30, () => log.add(requestOf()));
    log.add(requestOf({ status: 402, errorCode: "INSUFFICIENT_CREDITS" }));
    log.add(requestOf({ method: "POST", status: 202 }));
    await log.publish();
    expect(requests().filter(({ status }) => status === 200)).toHaveLength(MAX_LOGGED_READS_PER_SECOND);
    expect(requests().map(({ status }) => status)).toEqual(expect.arrayContaining([402, 202]));
  });

  it("reports once, after the minute, how many requests of a minute were not logged", async () => {
    const { clock, log, omitted } = start();
    times(MAX_LOGGED_READS_PER_SECOND + 30, () => log.add(requestOf()));
    times(MAX_LOGGED_CHANGES_PER_SECOND + 5, () => log.add(requestOf({ method: "POST", status: 202 })));
    await log.publish();
    expect(omitted()).toEqual([]);
    clock.advance(MINUTE_MS);
    await log.publish();
    await log.publish();
    expect(omitted()).toEqual([{ minute: "2026-03-02T10:00:00.000Z", reads: 30, others: 5 }]);
  });

  it("reports the current minute too if `withCurrentMinute` is set, as at a stop", async () => {
    const { log, omitted } = start();
    times(MAX_LOGGED_READS_PER_SECOND + 1, () => log.add(requestOf()));
    await log.publish({ withCurrentMinute: true });
    expect(omitted()).toEqual([{ minute: "2026-03-02T10:00:00.000Z", reads: 1, others: 0 }]);
  });

  it("counts requests as not logged while Kafka is unavailable, and logs later requests when Kafka is available again", async () => {
    const { clock, log, kafka, requests, omitted } = start();
    kafka.isAvailable = false;
    log.add(requestOf());
    log.add(requestOf({ status: 404 }));
    await log.publish();
    kafka.isAvailable = true;
    clock.advance(MINUTE_MS);
    log.add(requestOf({ requestId: "later", atMs: clock.nowMs() }));
    await log.publish();
    expect(requests().map(({ requestId }) => requestId)).toEqual(["later"]);
    expect(omitted()).toEqual([{ minute: "2026-03-02T10:00:00.000Z", reads: 1, others: 1 }]);
  });

  it("keeps its buffer bounded, whatever the number of organizations", async () => {
    const { clock, log, requests, omitted } = start();
    const organizationOf = (index: number): string => `0197a3c2-6d20-7a10-8b3f-${index.toString(16).padStart(12, "0")}`;
    times(MAX_BUFFERED_REQUESTS + 100, (index) => log.add(requestOf({ organizationId: organizationOf(index) })));
    clock.advance(MINUTE_MS);
    await log.publish();
    expect(requests()).toHaveLength(MAX_BUFFERED_REQUESTS);
    expect(omitted()).toHaveLength(100);
  });
});
