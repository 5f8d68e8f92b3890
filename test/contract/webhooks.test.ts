/**
 * Tests every webhook operation with every status in its row and with 429, on the running system:
 * fields, error texts, headers and price.
 */
import { randomUUID } from "node:crypto";

import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

import type { Answer, Caller, SendOptions } from "./caller.ts";
import { ERROR_TEXTS, PRICES, RATE_LIMIT_TEXT, SCOPES } from "./interface-tables.ts";
import { ErrorBody } from "./shapes.ts";
import { WEBHOOK_OPERATIONS, type WebhookRow } from "./webhook-tables.ts";
import { startContractHarness, type ContractHarness } from "./harness.ts";

const ANSWER_DEADLINE_MS = 5_000;
const WEBHOOKS = "/api/v1/management/webhooks";

const endpoint = z.strictObject({
  id: z.guid(),
  url: z.string(),
  description: z.string(),
  kinds: z.array(z.string()).nullable(),
  serverIds: z.array(z.guid()).nullable(),
  status: z.enum(["enabled", "disabled"]),
  disabledReason: z.enum(["owner", "gone", "failing"]).nullable(),
  failingSince: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});
const delivery = z.strictObject({
  id: z.guid(),
  eventId: z.guid(),
  endpointId: z.guid(),
  type: z.string(),
  status: z.enum(["pending", "delivering", "succeeded", "failed", "cancelled"]),
  attempts: z.array(
    z.strictObject({
      number: z.int().min(1),
      at: z.iso.datetime(),
      status: z.int().nullable(),
      error: z.string().nullable(),
      durationMs: z.int().min(0),
      replyStart: z.string(),
    }),
  ),
  nextAttemptAt: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
  completedAt: z.iso.datetime().nullable(),
});
const pagination = z.strictObject({
  page: z.int(),
  limit: z.int(),
  total: z.int(),
  totalPages: z.int(),
  nextCursor: z.string().nullable(),
});
const event = z.strictObject({
  id: z.guid(),
  cursor: z.string(),
  type: z.string(),
  timestamp: z.iso.datetime(),
  data: z.looseObject({ eventId: z.guid(), organizationId: z.guid() }),
});
const withSecret = z.strictObject({ endpoint, secret: z.string().regex(/^whsec_/) });

const SHAPES: Readonly<Record<string, z.ZodType>> = {
  "Create webhook": withSecret,
  "List webhooks": z.strictObject({ endpoints: z.array(endpoint).min(1) }),
  "Get webhook": z.strictObject({ endpoint }),
  "Update webhook": z.strictObject({ endpoint }),
  "Rotate webhook secret": withSecret,
  "Test webhook": z.strictObject({ eventId: z.guid() }),
  "Replay webhook": z.strictObject({ events: z.literal(0) }),
  "List webhook deliveries": z.strictObject({ deliveries: z.array(delivery).min(1), pagination }),
  "Redeliver webhook": z.strictObject({ delivery }),
  "List events": z.strictObject({ events: z.array(event).min(1), next: z.string() }),
  "Delete webhook": z.strictObject({ id: z.guid(), deleted: z.literal(true) }),
};

let harness: ContractHarness;
let target: { readonly endpointId: string; readonly deliveryId: string };

beforeAll(async () => {
  harness = await startContractHarness({ together: false });
  target = await endpointWithDelivery(harness.owner);
});
afterAll(() => harness.stop());

/** Creates an endpoint without a receiver, and a delivery to the endpoint. */
async function endpointWithDelivery(owner: Caller): Promise<typeof target> {
  const endpointId = await newEndpoint(owner);
  const path = `${WEBHOOKS}/${endpointId}`;
  expect((await owner.send("POST", `${path}/test`)).status).toBe(202);
  const deliveryId = await eventually(async () => {
    const { body } = await owner.send("GET", `${path}/deliveries`);
    const [first] = (body as { deliveries: { id: string }[] }).deliveries;
    if (first === undefined) throw new Error("no delivery yet");
    return first.id;
  });
  return { endpointId, deliveryId };
}

async function newEndpoint(owner: Caller): Promise<string> {
  const answer = await owner.send("POST", WEBHOOKS, { body: { url: "http://127.0.0.1:9/contract" } });
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
  return (answer.body as { endpoint: { id: string } }).endpoint.id;
}

interface Sending extends SendOptions {
  readonly caller?: Caller;
  readonly target?: Partial<typeof target>;
  readonly query?: string;
}

function send(operation: WebhookRow, sending: Sending = {}): Promise<Answer> {
  const { caller = harness.owner, query = "", target: other = {}, ...options } = sending;
  const { endpointId, deliveryId } = { ...target, ...other };
  const path = operation.path.replace("{endpointId}", endpointId).replace("{deliveryId}", deliveryId);
  return caller.send(operation.method, path + query, {
    ...(operation.body === undefined ? {} : { body: operation.body }),
    ...options,
  });
}

function expectError(answer: Answer, status: number, charged: number, error?: string): void {
  expect({ status: answer.status, body: answer.body, charged: answer.charged }).toMatchObject({ status, charged });
  const body = ErrorBody.parse(answer.body);
  if (error !== undefined) expect(body.error).toBe(error);
  expect(answer.headers.get("x-error-code")).toMatch(/^[A-Z_]+$/);
  expect(answer.headers.has("x-credits-remaining")).toBe(status !== 401);
}

const PROVOKE: Readonly<Record<number, (operation: WebhookRow) => Promise<void>>> = {
  400: async ({ wrong, ...operation }) => {
    if (wrong === undefined) {
      // No body or query of this operation is invalid. It returns 400 for a disabled endpoint.
      const endpointId = await newEndpoint(harness.owner);
      await harness.owner.send("PATCH", `${WEBHOOKS}/${endpointId}`, { body: { status: "disabled" } });
      const answer = await send(operation, { target: { endpointId, deliveryId: target.deliveryId } });
      expectError(answer, 400, PRICES.read);
      return;
    }
    const { field, ...sending } = wrong;
    const answer = await send(operation, sending);
    expectError(answer, 400, PRICES.read);
    expect(ErrorBody.parse(answer.body).issues?.map(({ path }) => path[0])).toContain(field);
  },
  401: async (operation) => {
    expectError(await send(operation, { authorization: null }), 401, 0, ERROR_TEXTS[401]);
  },
  402: async (operation) => {
    expectError(await send(operation, { caller: harness.poor }), 402, 0, ERROR_TEXTS[402]);
  },
  403: async (operation) => {
    const missing = ERROR_TEXTS[403].replace("<scope>", operation.scope);
    expectError(await send(operation, { caller: harness.withoutScope }), 403, 0, missing);
    for (const scope of SCOPES.filter((other) => other !== operation.scope)) {
      const caller = harness.single.get(scope);
      if (caller === undefined) throw new Error(`no key with ${scope}`);
      expectError(await send(operation, { caller }), 403, 0, missing);
    }
    // These operations need access to all servers.
    const limited = "Missing server access: all servers of the organization";
    expectError(await send(operation, { caller: harness.limited }), 403, 0, limited);
  },
  404: async (operation) => {
    const unknown = { endpointId: randomUUID(), deliveryId: randomUUID() };
    expectError(await send(operation, { target: unknown }), 404, PRICES.read);
    expectError(await send(operation, { target: { endpointId: "no-uuid" } }), 404, PRICES.read);
  },
  429: async (operation) => {
    await send(operation, { caller: harness.slow, target: { endpointId: randomUUID() } });
    const answer = await send(operation, { caller: harness.slow, target: { endpointId: randomUUID() } });
    expectError(answer, 429, 0, RATE_LIMIT_TEXT);
  },
  500: async (operation) => {
    // The paused service may still execute the request later, so the request has its own endpoint.
    const endpointId = await newEndpoint(harness.owner);
    const webhooks = harness.stack.process("webhooks");
    webhooks.kill("SIGSTOP");
    const beganMs = Date.now();
    try {
      expectError(await send(operation, { target: { endpointId } }), 500, 0, ERROR_TEXTS[500]);
      expect(Date.now() - beganMs).toBeLessThan(ANSWER_DEADLINE_MS);
    } finally {
      webhooks.kill("SIGCONT");
    }
  },
};

describe.each(WEBHOOK_OPERATIONS)("$name ($method $path)", (operation) => {
  it.each([...operation.errors, 429])("returns %d", async (status) => {
    const provoke = PROVOKE[status];
    if (provoke === undefined) throw new Error(`no test for ${operation.name} and ${status}`);
    await provoke(operation);
  });

  it(`returns ${operation.success} with exactly the documented fields and price`, async () => {
    const answer = await eventually(async () => {
      const got = await send(operation);
      expect({ status: got.status, body: got.body }).toMatchObject({ status: operation.success });
      return got;
    });
    SHAPES[operation.name]?.parse(answer.body);
    expect(answer.charged).toBe(PRICES[operation.price]);
  });
});

it("the event feed lists events of several kinds: `kinds` may be a list with commas or be repeated", async () => {
  const list = async (query: string): Promise<unknown> => {
    const answer = await harness.owner.send("GET", `/api/v1/management/events?${query}`);
    expect(answer.status).toBe(200);
    return answer.body;
  };
  const listed = await list("kinds=webhook.test,account.created");
  expect(listed).toMatchObject({ events: expect.arrayContaining([expect.objectContaining({ type: "webhook.test" })]) });
  expect(await list("kinds=webhook.test&kinds=account.created")).toEqual(listed);
});

describe("another organization's webhooks", () => {
  it.each(WEBHOOK_OPERATIONS.filter(({ path }) => path.includes("{endpointId}")))(
    "$name returns 404 for the endpoint",
    async (operation) => {
      const { owner } = harness;
      const other = await harness.anotherOwner();
      const foreign = await endpointWithDelivery(other);
      expectError(await send(operation, { caller: owner, target: foreign }), 404, PRICES.read);
    },
  );
});

describe("an organization's endpoints", () => {
  it("are at most 20; another endpoint is rejected with TOO_MANY_ENDPOINTS", async () => {
    const owner = await harness.anotherOwner();
    for (let count = 0; count < 20; count += 1) await newEndpoint(owner);
    const answer = await owner.send("POST", WEBHOOKS, { body: { url: "http://127.0.0.1:9/one-more" } });
    expectError(answer, 400, PRICES.read);
    expect(answer.headers.get("x-error-code")).toBe("TOO_MANY_ENDPOINTS");
  });
});
