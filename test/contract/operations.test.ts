/**
 * Tests every operation of {@link OPERATIONS} with every status in its row, on the running system:
 * exact fields, error texts, headers and price. If `PROVOKE` has no function for a listed status,
 * the test fails. Status 500 is tested in unavailable.test.ts.
 */
import { randomUUID } from "node:crypto";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { validBody } from "./bodies.ts";
import type { Answer, Caller, SendOptions, Target } from "./caller.ts";
import {
  DIGEST_DATE,
  ERROR_TEXTS,
  INCOMPLETE_DATE,
  OPERATIONS,
  type OperationRow,
  PRICES,
  RATE_LIMIT_TEXT,
} from "./interface-tables.ts";
import { ANSWERS, CreationEnvelope, Envelope, ErrorBody, HistoryExport, PasswordEnvelope } from "./shapes.ts";
import { WEBHOOK_OPERATIONS } from "./webhook-tables.ts";
import {
  finished,
  newAccount,
  newBreach,
  newTemplate,
  pathOf,
  startContractHarness,
  type ContractHarness,
} from "./harness.ts";

/** Statuses that unavailable.test.ts causes, in a separate stack with paused services. */
const ELSEWHERE = new Set([500]);
/** Time limit of a test that waits until the evidence of a breach is stored. */
const EVIDENCE_MS = 120_000;

let harness: ContractHarness;
beforeAll(async () => {
  harness = await startContractHarness();
});
afterAll(() => harness.stop());

interface Sending extends SendOptions {
  readonly caller?: Caller;
  readonly target?: Partial<Target>;
}

/** Sends a valid request of the operation, changed by `sending`. */
function send(operation: OperationRow, sending: Sending = {}): Promise<Answer> {
  const { caller = harness.owner, target = {}, ...options } = sending;
  const path = pathOf(operation, { ...harness.target, ...target });
  const body = operation.body === undefined ? {} : { body: validBody(operation.body) };
  const key = operation.key ? { idempotencyKey: randomUUID() } : {};
  return caller.send(operation.method, path, { ...body, ...key, ...options });
}

const needsAccount = ({ path }: OperationRow): boolean => path.includes("{accountNumber}");
const isOfTemplate = ({ path }: OperationRow): boolean => path.includes("{templateName}");
const priceOf = ({ price }: OperationRow): number => PRICES[price] * (price === "bulkItem" ? 2 : 1);

/**
 * If the operation changes an account or a template, creates a new account or template and returns
 * it. So the account and the template of other tests stay unchanged. Otherwise returns no values.
 */
async function targetOf(operation: OperationRow): Promise<Partial<Target>> {
  const { serverId } = harness.target;
  if (operation.method !== "GET" && isOfTemplate(operation)) {
    return { templateName: await newTemplate(harness.owner, serverId) };
  }
  if (operation.method === "GET" || !needsAccount(operation)) return {};
  return newAccount(harness.owner, serverId);
}

/** With 401, and with an unknown path or method, the wallet is not read (decisions, 1.6). */
function showsRemaining({ status, headers }: Answer): boolean {
  const code = headers.get("x-error-code");
  return status !== 401 && status !== 405 && code !== "NOT_FOUND";
}

function expectHeaders(answer: Answer, charged: number): void {
  expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
  expect(answer.headers.get("x-request-id")).toMatch(/.+/);
  expect(answer.charged).toBe(charged);
  expect(answer.headers.has("x-credits-remaining")).toBe(showsRemaining(answer));
}

function expectError(answer: Answer, status: number, charged: number, error?: string): void {
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status });
  const body = ErrorBody.parse(answer.body);
  if (error !== undefined) expect(body.error).toBe(error);
  if (status !== 400) expect(Object.keys(body)).toEqual(["error", "code", "requestId"]);
  expect(body.code).toBe(answer.headers.get("x-error-code"));
  expect(body.requestId).toBe(answer.headers.get("x-request-id"));
  expectHeaders(answer, charged);
}

function expectEnvelope(operation: OperationRow, answer: Answer, duplicate: boolean): void {
  const shape =
    operation.body === "password"
      ? PasswordEnvelope
      : operation.body === "create" && !duplicate
        ? CreationEnvelope
        : Envelope;
  expect(shape.parse(answer.body)).toMatchObject({ duplicate });
  const { command } = answer.body as { command: { managedAccountId: string | null } };
  expect(command.managedAccountId === null).toBe(isOfTemplate(operation));
  expect(answer.text).not.toContain("undefined");
  expect(answer.headers.get("idempotent-replayed")).toBe(duplicate ? "true" : null);
}

const PROVOKE: Readonly<Record<number, (operation: OperationRow) => Promise<void>>> = {
  200: (operation) => (operation.key ? repeats(operation) : answersAtOnce(operation)),

  202: async (operation) => {
    const answer = await send(operation, { target: await targetOf(operation) });
    expect({ status: answer.status, body: answer.body }).toMatchObject({ status: 202 });
    expectHeaders(answer, priceOf(operation));
    if (operation.body !== "bulk") {
      expectEnvelope(operation, answer, false);
      return;
    }
    const { results } = answer.body as { results: unknown[] };
    expect(Object.keys(answer.body as object)).toEqual(["results"]);
    expect(results).toHaveLength(2);
    for (const result of results) expect(CreationEnvelope.parse(result)).toMatchObject({ duplicate: false });
  },

  400: async (operation) => {
    if (!operation.path.includes("{serverId}")) {
      const answer = await harness.owner.send(operation.method, `${operation.path}?page=0`);
      expectError(answer, 400, PRICES.read);
      expect(ErrorBody.parse(answer.body).issues?.map(({ path }) => path)).toEqual([["page"]]);
      return;
    }
    const answer = await send(operation, { target: { serverId: "no-uuid" } });
    expectError(answer, 400, PRICES.read);
    expect(ErrorBody.parse(answer.body).issues?.map(({ path }) => path)).toEqual([["serverId"]]);
  },

  401: async (operation) => {
    const text = ERROR_TEXTS[401];
    expectError(await send(operation, { authorization: null }), 401, 0, text);
    expectError(await send(operation, { authorization: "Management kapi.unknown.key" }), 401, 0, text);
    expectError(await send(operation, { authorization: `Bearer ${harness.owner.managementKey}` }), 401, 0, text);
  },

  402: async (operation) => {
    const answer = await send(operation, { caller: harness.poor, target: harness.poorTarget });
    expectError(answer, 402, 0, ERROR_TEXTS[402]);
  },

  403: async (operation) => {
    const missing = ERROR_TEXTS[403].replace("<scope>", operation.scope);
    expectError(await send(operation, { caller: harness.withoutScope }), 403, 0, missing);
    if (!operation.path.includes("{serverId}")) return;
    const foreign = harness.poorTarget.serverId;
    const answer = await send(operation, { target: { serverId: foreign } });
    expectError(answer, 403, 0, `Missing server access: ${foreign}`);
  },

  404: async (operation) => {
    if (operation.name === "getCreditBalance") {
      expectError(await send(operation, { caller: harness.walletless }), 404, 0);
    } else if (operation.name === "getCommand") {
      expectError(await send(operation, { target: { commandId: randomUUID() } }), 404, PRICES.read);
      expectError(await send(operation, { target: { commandId: "no-uuid" } }), 404, PRICES.read);
    } else if (operation.path.includes("{breachId}")) {
      expectError(await send(operation, { target: { breachId: randomUUID() } }), 404, PRICES.read);
      expectError(await send(operation, { target: { serverId: harness.removedServerId } }), 404, PRICES.read);
    } else {
      expectError(await send(operation, { target: { serverId: harness.removedServerId } }), 404, PRICES.read);
      if (isOfTemplate(operation) && operation.method !== "PUT") {
        expectError(await send(operation, { target: { templateName: "unknown" } }), 404, PRICES.read);
      }
      if (!needsAccount(operation)) return;
      expectError(await send(operation, { target: { accountNumber: "99999999" } }), 404, PRICES.read);
    }
  },

  409: async (operation) => {
    if (operation.path.includes("{breachId}")) {
      const { accountNumber } = await newAccount(harness.owner, harness.target.serverId);
      const breachId = await newBreach(harness.owner, { serverId: harness.target.serverId, accountNumber });
      const answer = await send(operation, { target: { accountNumber, breachId } });
      expectError(answer, 409, PRICES.read);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
      return;
    }
    if (operation.name === "List daily digests") {
      const incomplete = { ...operation, path: operation.path.replace(DIGEST_DATE, INCOMPLETE_DATE) };
      const answer = await send(incomplete);
      expectError(answer, 409, PRICES.read, "The digests of this day are not complete yet");
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
      return;
    }
    const idempotencyKey = randomUUID();
    expect((await send(operation, { idempotencyKey })).status).toBe(202);
    const body = operation.body === "bulk" ? { accounts: [other()] } : other();
    expectError(await send(operation, { idempotencyKey, body }), 409, PRICES.read);
    expectError(await send(operation, { target: { serverId: harness.disabledServerId } }), 409, PRICES.read);
  },
};

const other = (): object => ({ ...validBody("create"), accountName: "Another" });

async function repeats(operation: OperationRow): Promise<void> {
  const request = {
    target: await targetOf(operation),
    idempotencyKey: randomUUID(),
    body: operation.body === undefined ? {} : validBody(operation.body),
  };
  const first = await send(operation, request);
  expect({ status: first.status, body: first.body }).toMatchObject({ status: 202 });
  const again = await send(operation, request);
  expect({ status: again.status, body: again.body }).toMatchObject({ status: 200 });
  expectHeaders(again, PRICES.read);
  expectEnvelope(operation, again, true);
  type Shown = { command: { id: string }; password?: string };
  const [before, after] = [first.body as Shown, again.body as Shown];
  expect(after.command.id).toBe(before.command.id);
  expect(after.password).toBe(before.password);
}

async function answersAtOnce(operation: OperationRow): Promise<void> {
  if (needsEvidence(operation)) await untilStored(operation);
  const answer = await send(operation, { target: await targetOf(operation) });
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status: 200 });
  expectHeaders(answer, priceOf(operation));
  const shape = ANSWERS[operation.name];
  expect(shape, `ANSWERS has no shape for ${operation.name}`).toBeDefined();
  shape?.parse(answer.body);
  if (operation.paged === true) await expectPages(operation);
}

/** Waits until the evidence of the target's breach is stored. */
async function untilStored(operation: OperationRow): Promise<void> {
  const options = { timeout: EVIDENCE_MS, interval: 500 };
  await expect.poll(async () => (await send(operation)).status, options).toBe(200);
}

/** A paged list reports the default page and limit, and obeys the given limit. */
async function expectPages(operation: OperationRow): Promise<void> {
  const path = pathOf(operation, harness.target);
  const first = (await harness.owner.send("GET", path)).body as { pagination: object };
  expect(first.pagination).toMatchObject({ page: 1, limit: 20 });
  const next = path.includes("?") ? "&" : "?";
  const page = (await harness.owner.send("GET", `${path}${next}page=2&limit=1`)).body as Record<string, unknown>;
  expect(page["pagination"]).toMatchObject({ page: 2, limit: 1 });
  const records = Object.values(page).find((value) => Array.isArray(value)) as unknown[];
  expect(records.length).toBeLessThanOrEqual(1);
}

const needsEvidence = ({ path }: OperationRow): boolean => path.includes("{breachId}");
// Evidence is stored more than a minute after its breach, so the tests of evidence run last.
const IN_ORDER = [
  ...OPERATIONS.filter((row) => !needsEvidence(row)),
  ...OPERATIONS.filter((row) => needsEvidence(row)),
];

describe.each(IN_ORDER)("$name ($method $path)", (operation) => {
  const listed = [...operation.success, ...operation.errors].filter((status) => !ELSEWHERE.has(status));
  it.each(listed)(
    "returns %d",
    async (status) => {
      const provoke = PROVOKE[status];
      if (provoke === undefined) throw new Error(`no test for ${operation.name} and ${status}`);
      await provoke(operation);
    },
    EVIDENCE_MS,
  );
});

describe("above the rate limit of a key,", () => {
  it.each(OPERATIONS)("$name returns 429, free of charge", async (operation) => {
    await send(operation, { caller: harness.slow, target: { accountNumber: "99999999" } });
    const answer = await send(operation, { caller: harness.slow, target: { accountNumber: "99999999" } });
    expectError(answer, 429, 0, RATE_LIMIT_TEXT);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  });
});

describe("for an account that has traded,", () => {
  it.each([
    ["transactions", 4],
    ["orders", 2],
    ["positions", 2],
    ["deals", 3],
  ])("the list of %s has records with exactly the documented fields", async (name, least) => {
    const operation = OPERATIONS.find(({ path }) => path.endsWith(`/${name}`));
    const path = `/api/v1/management/servers/${harness.target.serverId}/accounts/${harness.target.accountNumber}/${name}`;
    await expect
      .poll(async () => {
        const { body } = await harness.owner.send("GET", path);
        ANSWERS[operation?.name ?? ""]?.parse(body);
        return (body as Record<string, unknown[]>)[name]?.length;
      })
      .toBeGreaterThanOrEqual(least);
  });

  it("an export has records of all four kinds, with the fields of each kind", async () => {
    const operation = OPERATIONS.find(({ name }) => name === "Export account history");
    if (operation === undefined) throw new Error("the export is not in the table");
    const accepted = await send(operation);
    const command = await finished(harness.owner, (accepted.body as { command: { id: string } }).command.id);
    expect(command).toMatchObject({ status: "succeeded" });
    const { records } = HistoryExport.parse(command.result);
    expect(new Set(records.map(({ kind }) => kind))).toEqual(new Set(["transaction", "order", "position", "deal"]));
  });
});

describe("the document at /openapi.json", () => {
  it("has exactly the operations and statuses of the tables, and every path is a route", async () => {
    const { body } = await harness.owner.send("GET", "/openapi.json", { authorization: null });
    const { paths } = body as { paths: Record<string, Record<string, { responses: object }>> };
    const shown = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { responses }]) => ({
        call: `${method.toUpperCase()} ${path}`,
        statuses: Object.keys(responses).map(Number),
      })),
    );
    const expected = [...OPERATIONS, ...WEBHOOK_OPERATIONS].map(({ method, path, success, errors }) => ({
      // The path of a row may have a query.
      call: `${method} ${path.replace(/\?.*/, "")}`,
      statuses: [success, ...errors, 429].flat().toSorted((a, b) => a - b),
    }));
    const byCall = (a: { call: string }, b: { call: string }): number => a.call.localeCompare(b.call);
    expect(shown.toSorted(byCall)).toEqual(expected.toSorted(byCall));
    for (const { call } of shown) {
      const [method = "", path = ""] = call.split(" ");
      const answer = await harness.owner.send(method, path.replaceAll(/[{}]/g, ""), { authorization: null });
      expect(answer.status, call).toBe(401);
    }
  });

  it("needs no key, costs no credits, and returns 304 for a matching ETag", async () => {
    const first = await fetch(`${harness.stack.baseUrl}/openapi.json`);
    const tag = first.headers.get("etag") ?? "";
    const again = await fetch(`${harness.stack.baseUrl}/openapi.json`, { headers: { "if-none-match": tag } });
    expect([first.status, again.status]).toEqual([200, 304]);
    expect(first.headers.get("x-credits-charged")).toBe("0");
  });

  it("has a page, /docs/reference, which may only load files of its own origin", async () => {
    const page = await fetch(`${harness.stack.baseUrl}/docs/reference`);
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; script-src 'self' 'nonce-/);
    expect(await page.text()).not.toMatch(/(src|href)="(https?:)?\/\//);
    expect((await fetch(`${harness.stack.baseUrl}/docs/reference/js/scalar.js`)).status).toBe(200);
  });

  it("is explained by pages of error codes below /docs, which load nothing from other origins", async () => {
    const page = await fetch(`${harness.stack.baseUrl}/docs/errors/INSUFFICIENT_CREDITS`);
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; script-src 'self'; /);
    const text = await page.text();
    expect(text).toContain("What to do");
    expect(text).not.toMatch(/(src|href)="(https?:)?\/\//);
    expect((await fetch(`${harness.stack.baseUrl}/docs/assets/script.js`)).status).toBe(200);
    expect((await fetch(`${harness.stack.baseUrl}/docs/nothing`)).status).toBe(404);
  });
});

describe("a request that matches no operation", () => {
  it("returns 404 for an unknown path, and 405 with Allow for an unknown method, with an error body", async () => {
    expectError(await harness.owner.send("GET", "/api/v1/management/nothing"), 404, 0, "Not found");
    const answer = await harness.owner.send("PUT", "/api/v1/management/credits/balance", { body: {} });
    expectError(answer, 405, 0, "Method not allowed");
    expect(answer.headers.get("allow")).toBe("GET");
  });
});
