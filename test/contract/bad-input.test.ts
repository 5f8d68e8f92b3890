/**
 * Sends invalid bodies, idempotency keys, paths and queries to the operations of
 * {@link OPERATIONS}. Each invalid request returns 400 and costs the price of a read. The error
 * names the invalid field, unless the body is invalid as a whole. An invalid body queues no command
 * and does not use up its idempotency key. Values at the limits are accepted. getCommand has no
 * 400: it accepts every `wait`, and returns 404 for an invalid id.
 */
import { randomUUID } from "node:crypto";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { validBody } from "./bodies.ts";
import type { Answer, SendOptions, Target } from "./caller.ts";
import { LIMITS, OPERATIONS, type OperationRow, PRICES } from "./interface-tables.ts";
import { ErrorBody } from "./shapes.ts";
import { newAccount, pathOf, startContractHarness, type ContractHarness } from "./harness.ts";
import { type FieldCase, rightFields, withField, WRONG_WHOLES, wrongFields } from "./wrong-bodies.ts";

let harness: ContractHarness;
/**
 * Available credits of the organization of `harness.owner`. Every response must have this number as
 * remaining credits.
 */
let available: number;

beforeAll(async () => {
  harness = await startContractHarness();
  const { remaining } = await harness.owner.send("GET", "/api/v1/management/credits/balance");
  available = remaining;
});
afterAll(async () => {
  const { body } = await harness.owner.send("GET", "/api/v1/management/credits/balance");
  expect((body as { wallet: { availableCredits: number } }).wallet.availableCredits).toBe(available - PRICES.read);
  await harness.stop();
});

const withBody = OPERATIONS.flatMap((operation) => {
  const { body } = operation;
  return body === undefined || body === "bulk" ? [] : [{ ...operation, kind: body }];
});

/** Sends a request, and checks that its charge lowers the remaining credits of the response. */
async function send(operation: OperationRow, target: Target, options: SendOptions, query = ""): Promise<Answer> {
  const answer = await harness.owner.send(operation.method, pathOf(operation, target) + query, options);
  available -= answer.charged;
  expect(answer.remaining).toBe(available);
  return answer;
}

function expectRefused(answer: Answer, path: readonly (string | number)[] | null): void {
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status: 400 });
  const { issues } = ErrorBody.parse(answer.body);
  if (path !== null) {
    const paths = issues?.map((issue) => issue.path.slice(0, path.length));
    expect(paths).toContainEqual(path);
    expect(new Set(paths?.map((found) => JSON.stringify(found))).size).toBe(1);
  }
  expect(answer.charged).toBe(PRICES.read);
}

/** Returns the server's commands with this idempotency key. */
async function commandsOf(target: Target, idempotencyKey: string): Promise<unknown[]> {
  const path = `/api/v1/management/servers/${target.serverId}/commands?idempotencyKey=${idempotencyKey}`;
  const answer = await harness.owner.send("GET", path);
  available -= answer.charged;
  return (answer.body as { commands: unknown[] }).commands;
}

function expectAccepted(operation: OperationRow, answer: Answer): void {
  const status = operation.key ? 202 : 200;
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status });
}

describe.each(withBody)("$name", (operation) => {
  const key = randomUUID();
  const keyed = operation.key ? { idempotencyKey: key } : {};
  let target: Target;

  beforeAll(async () => {
    target = harness.target;
    if (operation.body === "configuration") target = { ...target, serverId: harness.otherServerId };
    // Deletions use the harness's account. Its open position makes the commands fail, so the
    // account remains.
    else if (operation.path.includes("{accountNumber}") && !operation.path.endsWith("/delete")) {
      target = { ...target, ...(await newAccount(harness.owner, target.serverId)) };
      available = (await harness.owner.send("GET", "/api/v1/management/credits/balance")).remaining;
    }
  });

  it.each(wrongFields(operation.kind))("rejects $field: $what", async (wrong) => {
    const raw = withField(validBody(operation.kind), wrong);
    expectRefused(await send(operation, target, { raw, ...keyed }), [wrong.field]);
  });

  it.each(WRONG_WHOLES)("rejects a body: %s", async (_what, raw, contentType) => {
    expectRefused(await send(operation, target, { raw, contentType, ...keyed }), null);
  });

  it("rejects a missing body", async () => {
    expectRefused(await send(operation, target, keyed), null);
  });

  it("has queued no command for the invalid requests, and accepts a valid request with the same key at the normal price", async () => {
    if (operation.key) expect(await commandsOf(target, key)).toEqual([]);
    const answer = await send(operation, target, { body: validBody(operation.kind), ...keyed });
    expectAccepted(operation, answer);
    expect(answer.charged).toBe(PRICES[operation.price]);
  });

  it.each(rightFields(operation.kind))("accepts $field: $what", async (right) => {
    const raw = withField(validBody(operation.kind), right);
    const fresh = operation.key ? { idempotencyKey: randomUUID() } : {};
    expectAccepted(operation, await send(operation, target, { raw, ...fresh }));
  });

  it("ignores unknown fields and does not store them", async () => {
    const marker = `marker-${randomUUID()}`;
    const valid = JSON.stringify(validBody(operation.kind));
    const raw = valid.replace("{", `{"unknown":{"deep":["${marker}"]},"__proto__":{"x":"${marker}"},`);
    const idempotencyKey = randomUUID();
    const answer = await send(operation, target, { raw, ...(operation.key ? { idempotencyKey } : {}) }, "?unknown=1");
    expectAccepted(operation, answer);
    expect(answer.text).not.toContain(marker);
    if (operation.key) expect(JSON.stringify(await commandsOf(target, idempotencyKey))).not.toContain(marker);
  });
});

describe.each(OPERATIONS.filter(({ key }) => key))("the Idempotency-Key of $name", (operation) => {
  const body = operation.body === undefined ? {} : validBody(operation.body);
  it.each([
    ["missing", undefined],
    ["empty", ""],
    ["of 101 characters", "k".repeat(LIMITS.idempotencyKey.max + 1)],
  ])("is rejected: %s", async (_what, idempotencyKey) => {
    const options = { body, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) };
    expectRefused(await send(operation, harness.target, options), ["Idempotency-Key"]);
  });
});

describe.each([1, LIMITS.idempotencyKey.max])("an Idempotency-Key of %d characters", (length) => {
  it("is accepted", async () => {
    const operation = named("Deposit account funds");
    const options = { body: validBody("funds"), idempotencyKey: "k".repeat(length) };
    expectAccepted(operation, await send(operation, harness.target, options));
  });
});

describe.each(OPERATIONS.filter(({ path }) => path.includes("{accountNumber}")))(
  "$name with an invalid path",
  (operation) => {
    const options = (): SendOptions => ({
      ...(operation.body === undefined ? {} : { body: validBody(operation.body) }),
      ...(operation.key ? { idempotencyKey: randomUUID() } : {}),
    });
    it.each([
      "abc",
      "x".repeat(LIMITS.accountNumber.max + 1),
      "ab%20cd",
      "1000%2F0001",
      "1000%000",
      "%F0%9F%92%B0%F0%9F%92%B0",
    ])("rejects account number %s", async (accountNumber) => {
      expectRefused(await send(operation, { ...harness.target, accountNumber }, options()), ["accountNumber"]);
    });
    it.each(["no-uuid", "0197a3c2-6d20-7a10-8b3f-91c5e07d2a0", "%00"])("rejects server id %s", async (serverId) => {
      expectRefused(await send(operation, { ...harness.target, serverId }, options()), ["serverId"]);
    });
  },
);

describe.each(OPERATIONS.filter(({ paged }) => paged === true))("the page of $name", (operation) => {
  it.each([
    ["page", "0"],
    ["page", "-1"],
    ["page", "1.5"],
    ["page", "x"],
    ["page", ""],
    ["page", "1e3"],
    ["limit", "0"],
    ["limit", "101"],
    ["limit", "x"],
    ["limit", "1&limit=2"],
  ])("%s=%s is rejected", async (name, value) => {
    const query = `${separatorOf(operation)}${name}=${value}`;
    expectRefused(await send(operation, harness.target, {}, query), [name]);
  });
  it.each(["page=1", "limit=1", "limit=100", "page=1000000000", "unknown=x"])("%s is accepted", async (query) => {
    const added = `${separatorOf(operation)}${query}`;
    expect(await send(operation, harness.target, {}, added)).toMatchObject({ status: 200 });
  });
});

/** Returns "&" if the path of the row already has a query. */
const separatorOf = ({ path }: OperationRow): string => (path.includes("?") ? "&" : "?");

/** An operation, a parameter of its query, and values of the parameter that are rejected. */
const QUERIES: readonly (readonly [string, string, readonly string[]])[] = [
  ["list account positions", "status", ["", "OPEN", "pending"]],
  ["listTradingAccounts", "page", ["0", "x"]],
  ["listTradingAccounts", "limit", ["0", "101"]],
  ["listTradingAccounts", "status", ["", "open"]],
  ["listTradingAccounts", "search", ["", "x".repeat(101)]],
  ["List account metrics", "limit", ["0", "1001", "x"]],
  ["List account metrics", "since", ["", "yesterday", "2026-02-30T00:00:00Z"]],
  ["List account metrics", "until", ["", "1767225600"]],
  ["List commands", "status", ["", "done"]],
  ["List commands", "operation", ["account.sell"]],
  ["List commands", "from", ["yesterday"]],
  ["List commands", "to", ["yesterday"]],
  ["List commands", "requestId", ["", "x".repeat(101)]],
];

describe.each(QUERIES)("%s", (name, parameter, values) => {
  it.each(values)(`${parameter}=%s is rejected`, async (value) => {
    expectRefused(await send(named(name), harness.target, {}, `?${parameter}=${value}`), [parameter]);
  });
});

describe("the time of Get account state", () => {
  const row = named("Get account state");
  const operation = { ...row, path: row.path.replace(/\?.*/, "") };
  const DAY_MS = 86_400_000;

  it.each([
    ["missing", ""],
    ["empty", "?at="],
    ["not a time", "?at=yesterday"],
    ["a number", "?at=1767225600"],
    ["without an offset", "?at=2026-03-02T12:00:30"],
    ["on a day that does not exist", "?at=2026-02-30T00:00:00Z"],
    ["given twice", "?at=2026-03-02T12:00:30Z&at=2026-03-02T12:00:30Z"],
  ])("is rejected: %s", async (_what, query) => {
    expectRefused(await send(operation, harness.target, {}, query), ["at"]);
  });

  it.each([
    [
      "in the future",
      new Date(Date.now() + DAY_MS).toISOString(),
      /^must not be in the future: the current time is 20.*Z$/,
    ],
    ["before the account began", "2020-01-01T00:00:00Z", /^must not be before the account began: 20.*Z$/],
    ["in the year 1", "0001-01-01T00:00:00Z", /^must not be before the account began: 20.*Z$/],
  ])("is rejected: %s", async (_what, at, message) => {
    const answer = await send(operation, harness.target, {}, `?at=${at}`);
    expectRefused(answer, ["at"]);
    expect(ErrorBody.parse(answer.body).issues?.[0]?.message).toMatch(message);
  });
});

describe("bulkCreateTradingAccounts", () => {
  const operation = named("bulkCreateTradingAccounts");
  const key = randomUUID();
  const items = (count: number): object[] => Array.from({ length: count }, () => validBody("create"));

  it.each([
    ["missing", {}],
    ["null", { accounts: null }],
    ["an object", { accounts: {} }],
    ["empty", { accounts: [] }],
    ["of 101 items", { accounts: items(LIMITS.bulkItems.max + 1) }],
  ])("rejects accounts: %s", async (_what, body) => {
    expectRefused(await send(operation, harness.target, { body, idempotencyKey: key }), ["accounts"]);
  });

  it.each(wrongFields("create"))("rejects the whole bulk for an item with $field: $what", async (wrong: FieldCase) => {
    const raw = `{"accounts":[${JSON.stringify(validBody("create"))},${withField(validBody("create"), wrong)}]}`;
    expectRefused(await send(operation, harness.target, { raw, idempotencyKey: key }), ["accounts", 1, wrong.field]);
  });

  it.each(WRONG_WHOLES)("rejects a body: %s", async (_what, raw, contentType) => {
    expectRefused(await send(operation, harness.target, { raw, contentType, idempotencyKey: key }), null);
  });

  it.each([LIMITS.bulkItems.min, LIMITS.bulkItems.max])(
    "has queued no command for the invalid requests, and accepts %d items",
    async (count) => {
      for (const index of [0, 1]) expect(await commandsOf(harness.target, `${key}:${index}`)).toEqual([]);
      const idempotencyKey = count === LIMITS.bulkItems.max ? key : randomUUID();
      const answer = await send(operation, harness.target, { body: { accounts: items(count) }, idempotencyKey });
      expectAccepted(operation, answer);
      expect(answer.charged).toBe(count * PRICES.bulkItem);
    },
  );
});

describe("getCommand, which has no 400", () => {
  it.each(["", "x", "-1", "1e9", "0", "30&wait=30"])("accepts wait=%s", async (wait) => {
    const answer = await send(named("getCommand"), harness.target, {}, `?wait=${wait}`);
    expect(answer.status).toBe(200);
  });
  it.each(["no-uuid", "%00", "%F0%9F%92%B0"])(
    "returns 404 for the id %s, at the price of a read",
    async (commandId) => {
      const answer = await send(named("getCommand"), { ...harness.target, commandId }, {});
      expect(answer).toMatchObject({ status: 404, charged: PRICES.read });
    },
  );
});

function named(name: string): OperationRow {
  const found = OPERATIONS.find((operation) => operation.name === name);
  if (found === undefined) throw new Error(`${name} is not in the table`);
  return found;
}
