/**
 * Calls every operation of {@link OPERATIONS} while the services behind the gateway are paused, and
 * while Redis is unavailable. The 500 comes within five seconds, has the form of the interface and
 * costs no credits. When the paused services run again, the same request with the same key is
 * accepted.
 * {@link NEEDS_NO_OWNER} lists the operations that return 200 while the services are paused.
 */
import { randomUUID } from "node:crypto";

import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { validBody } from "./bodies.ts";
import type { Answer, SendOptions } from "./caller.ts";
import { ERROR_TEXTS, OPERATIONS, type OperationRow } from "./interface-tables.ts";
import { newAccount, newTemplate, pathOf, startContractHarness, type ContractHarness } from "./harness.ts";

/** Time limit of a response while a dependency is unavailable (decisions, 1.5). */
const ANSWER_DEADLINE_MS = 5_000;
const OWNERS = ["account", "finance", "command-status", "metrics", "organization", "risk"];
/** Operations that the gateway serves without another service. */
const NEEDS_NO_OWNER = new Set(["getCreditBalance", "Get credit prices"]);
const RECOVERY_MS = 30_000;

let harness: ContractHarness;
const requests = new Map<OperationRow, { path: string; options: SendOptions }>();
const held = new Map<OperationRow, { answer: Answer; tookMs: number }>();

beforeAll(async () => {
  harness = await startContractHarness({ together: false });
  for (const operation of OPERATIONS) {
    const changes = operation.method !== "GET" && operation.path.includes("{accountNumber}");
    const own = changes ? await newAccount(harness.owner, harness.target.serverId) : {};
    const options = {
      ...(operation.body === undefined ? {} : { body: validBody(operation.body) }),
      ...(operation.key ? { idempotencyKey: randomUUID() } : {}),
    };
    const isDeletion = operation.method === "DELETE" && operation.path.includes("{templateName}");
    const template = isDeletion ? { templateName: await newTemplate(harness.owner, harness.target.serverId) } : {};
    requests.set(operation, { path: pathOf(operation, { ...harness.target, ...own, ...template }), options });
  }
  for (const name of OWNERS) harness.stack.process(name).kill("SIGSTOP");
  await Promise.all(
    OPERATIONS.map(async (operation) => {
      const beganMs = Date.now();
      const answer = await send(operation);
      held.set(operation, { answer, tookMs: Date.now() - beganMs });
    }),
  ).finally(() => {
    for (const name of OWNERS) harness.stack.process(name).kill("SIGCONT");
  });
});
afterAll(() => harness.stop());

function send(operation: OperationRow): Promise<Answer> {
  const request = requests.get(operation);
  if (request === undefined) throw new Error(`no request of ${operation.name}`);
  return harness.owner.send(operation.method, request.path, request.options);
}

function expectUnavailable(answer: Answer): void {
  const body = {
    error: ERROR_TEXTS[500],
    code: "DEPENDENCY_UNAVAILABLE",
    requestId: answer.headers.get("x-request-id"),
  };
  expect({ status: answer.status, body: answer.body }).toEqual({ status: 500, body });
  expect(answer.headers.get("x-error-code")).toBe("DEPENDENCY_UNAVAILABLE");
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(answer.headers.get("x-request-id")).toMatch(/.+/);
  expect(answer.charged).toBe(0);
}

describe.each(OPERATIONS)("$name", (operation) => {
  const expected = NEEDS_NO_OWNER.has(operation.name) ? 200 : 500;
  it(`returns ${expected} in under five seconds while the services are paused`, () => {
    const found = held.get(operation);
    if (found === undefined) throw new Error(`no response of ${operation.name}`);
    expect(found.tookMs).toBeLessThan(ANSWER_DEADLINE_MS);
    if (expected === 500) expectUnavailable(found.answer);
    else expect(found.answer.status).toBe(200);
  });

  it("accepts the same request when the services run again", async () => {
    // The evidence of the breach may not be complete yet.
    const expected = operation.path.includes("{breachId}") ? [200, 409] : [operation.success.at(-1)];
    await eventually(
      async () => {
        const { status, text } = await send(operation);
        expect(expected, text).toContain(status);
      },
      { timeoutMs: RECOVERY_MS },
    );
  });
});

describe("without Redis", () => {
  beforeAll(async () => {
    await harness.stack.environment.redis.crash();
  });
  afterAll(async () => {
    await harness.stack.environment.redis.restart();
  });

  it.each(OPERATIONS)("$name returns 500 in under five seconds", async (operation) => {
    const beganMs = Date.now();
    const answer = await send(operation);
    expectUnavailable(answer);
    // The remaining credits are unknown, so the header must be absent.
    expect(answer.headers.has("x-credits-remaining")).toBe(false);
    expect(Date.now() - beganMs).toBeLessThan(ANSWER_DEADLINE_MS);
  });
});
