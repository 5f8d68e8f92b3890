/** The request log: requests of `api.requests`, kept for seven days and found by filters. */
import { randomUUID } from "node:crypto";

import { ConsoleRequestsAnswer, type LoggedRequest, type LoggedRequests, TOPICS } from "@kapi/contracts";
import { createKafka, type Producer, startProducer } from "@kapi/kafka";
import { uuidV7 } from "@kapi/kernel";
import { createLogger, type Started } from "@kapi/runtime";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type Browser, type ConsoleHarness, type ConsoleUser, startConsoleHarness } from "./harness.ts";

const KEY = "abcdefgh234567ab";
const OTHER_KEY = "zzzzzzzz234567ab";
const DAY_MS = 86_400_000;

let harness: ConsoleHarness;
let producer: Started<Producer>;
let person: ConsoleUser;
let browser: Browser;
beforeAll(async () => {
  harness = await startConsoleHarness();
  person = await harness.person();
  browser = await harness.signedIn(person);
  const { kafkaBrokers, topicPrefix } = harness.environment;
  const logger = createLogger({ service: "test", level: "silent" });
  const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
  producer = await startProducer(kafka);
});
afterAll(async () => {
  await producer.stop();
  await harness.stop();
});

function requestOf(fields: Partial<LoggedRequest> = {}, agoMs = 0): LoggedRequest {
  return {
    id: uuidV7(Date.now() - agoMs),
    requestId: "request-1",
    operation: "getCreditBalance",
    method: "GET",
    serverId: null,
    accountNumber: null,
    status: 200,
    errorCode: null,
    durationMs: 3,
    actor: { type: "key", id: KEY },
    address: "192.0.2.1",
    creditsCharged: 1,
    commandId: null,
    ...fields,
  };
}

async function log(fields: Partial<LoggedRequests>): Promise<LoggedRequests> {
  const { organizationId } = person;
  const record = { recordId: randomUUID(), organizationId, requests: [], omitted: [], keyUses: [], ...fields };
  await producer.value.send(TOPICS.apiRequests, { key: record.organizationId, value: JSON.stringify(record) });
  return record;
}

async function list(query: string, visitor = browser): Promise<ConsoleRequestsAnswer> {
  const { status, body } = await visitor.ask("GET", `/requests?${query}`);
  expect(status).toBe(200);
  return ConsoleRequestsAnswer.parse(body);
}

const idsOf = ({ requests }: Pick<ConsoleRequestsAnswer, "requests">): string[] => requests.map(({ id }) => id);

describe("the request log", () => {
  it("shows a request within seconds, and only once if its record is repeated; every filter finds exactly the matching request", async () => {
    const refused = requestOf({
      requestId: "refused",
      operation: "depositAccountFunds",
      method: "POST",
      serverId: person.serverId,
      accountNumber: "10001",
      status: 402,
      errorCode: "INSUFFICIENT_CREDITS",
      creditsCharged: 0,
    });
    const record = await log({ requests: [requestOf(), refused, requestOf({ status: null })] });
    await eventually(async () => expect((await list("")).requests).toHaveLength(3));
    await log(record);
    await log({ requests: [requestOf({ requestId: "marker" })] });
    await eventually(async () => expect((await list("requestId=marker")).requests).toHaveLength(1));
    expect((await list("")).requests).toHaveLength(4);
    const filters = [
      "status=402",
      "status=4xx",
      "code=INSUFFICIENT_CREDITS",
      "operation=depositAccountFunds",
      "requestId=refused",
      `serverId=${person.serverId}&accountNumber=10001`,
      "accountNumber=10001",
      `actor=${KEY}&status=402&operation=depositAccountFunds`,
    ];
    for (const filter of filters) expect([filter, idsOf(await list(filter))]).toEqual([filter, [refused.id]]);
    expect((await list("status=none")).requests).toMatchObject([{ status: null }]);
    expect((await list(`from=${new Date(Date.now() + DAY_MS).toISOString()}`)).requests).toEqual([]);
    expect((await browser.ask("GET", `/requests/${refused.id}`)).body).toMatchObject({
      request: { ...refused, at: expect.any(String) },
    });
  });

  it("reads all requests page by page, newest first", async () => {
    const operation = `paged-${randomUUID()}`;
    const requests = Array.from({ length: 25 }, (_, index) => requestOf({ operation }, index * 60_000));
    await log({ requests });
    await eventually(async () => expect((await list(`operation=${operation}`)).requests).toHaveLength(25));
    const read: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await list(`operation=${operation}&limit=10${cursor === null ? "" : `&cursor=${cursor}`}`);
      read.push(...idsOf(page));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(read).toEqual(requests.map(({ id }) => id));
  });

  it("says how many requests were not logged, and counts a repeated record only once", async () => {
    const minute = new Date(Math.floor(Date.now() / 60_000) * 60_000 - 120_000).toISOString();
    const record = await log({ omitted: [{ minute, reads: 12_000, others: 3 }] });
    await log(record);
    await log({ requests: [requestOf({ requestId: "after-omitted" })] });
    await eventually(async () => expect((await list("requestId=after-omitted")).requests).toHaveLength(1));
    expect((await list("")).omitted).toEqual({ reads: 12_000, others: 3 });
  });

  it("leaves out requests that are older than seven days", async () => {
    const operation = `old-${randomUUID()}`;
    await log({ requests: [requestOf({ operation }, 8 * DAY_MS), requestOf({ operation }, 5 * DAY_MS)] });
    await eventually(async () => expect((await list(`operation=${operation}`)).requests).toHaveLength(1));
  });

  it("hides the requests of an organization from other organizations: their list is empty, and the id of a hidden request gets 404", async () => {
    const own = requestOf({ operation: "own" });
    await log({ requests: [own] });
    await eventually(async () => expect((await list("operation=own")).requests).toHaveLength(1));
    const other = await harness.signedIn(await harness.person());
    expect((await list("", other)).requests).toEqual([]);
    expect((await list(`actor=${KEY}`, other)).requests).toEqual([]);
    expect((await other.ask("GET", `/requests/${own.id}`)).status).toBe(404);
    expect((await other.ask("GET", "/requests/not-an-id")).status).toBe(404);
  });

  it("rejects malformed filters, cursors and limits", async () => {
    for (const query of ["status=9xx", "status=abc", "code=NOT_A_CODE", "cursor=x", "limit=1000"]) {
      expect([query, (await browser.ask("GET", `/requests?${query}`)).status]).toEqual([query, 400]);
    }
  });

  it("shows when and from where a key was last used", async () => {
    const created = await browser.ask("POST", "/keys", { name: "Used", scopes: ["credits:read"] });
    const { keyId } = (created.body as { key: { keyId: string } }).key;
    const at = new Date(Date.now() - DAY_MS).toISOString();
    await log({
      keyUses: [
        { keyId, at, address: "192.0.2.7" },
        { keyId: OTHER_KEY, at, address: null },
      ],
    });
    await eventually(async () =>
      expect((await browser.ask("GET", "/keys")).body).toMatchObject({
        keys: [{ keyId, lastUse: { at, address: "192.0.2.7" } }],
      }),
    );
    const later = requestOf({ actor: { type: "key", id: keyId }, address: "192.0.2.8" });
    await log({ requests: [later] });
    await eventually(async () =>
      expect((await browser.ask("GET", "/keys")).body).toMatchObject({ keys: [{ lastUse: { address: "192.0.2.8" } }] }),
    );
  });
});
