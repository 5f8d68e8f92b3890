/**
 * While the organization service cannot reach PostgreSQL, Redis charges requests and no charge is
 * lost. When a usage stream is at its limit, requests are rejected, so that no request is free.
 */
import { randomUUID } from "node:crypto";

import { createOrganization } from "@kapi/local";
import { TcpProxy } from "@kapi/servers";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { createTestEnvironment, eventually, type TestEnvironment } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { inFlight } from "../e2e/in-flight.ts";
import { CreditReconciliation } from "../properties/credit-reconciliation.ts";

const AT_ONCE = 32;
/** Maximum number of entries of a usage stream; small, so that a test can reach it. */
const LIMIT = 1_500;
/** Number of requests above the limit, which are rejected. */
const REJECTED = 200;
const CREDITS = 100_000;
const BOUGHT = 70;
const SETTLED_MS = 30_000;
const TEST_TIMEOUT_MS = 120_000;

let environment: TestEnvironment;
let stack: TestStack;
let reconciliation: CreditReconciliation;
let proxy: TcpProxy;

beforeAll(async () => {
  environment = await createTestEnvironment();
  // Only the organization service's connections to PostgreSQL can be cut.
  const front = await TcpProxy.inFrontOf(environment.postgresUrl);
  proxy = front.proxy;
  stack = await startTestStack({
    environment,
    services: ["gateway", "organization", "command-status"],
    env: { organization: { POSTGRES_URL: front.url }, gateway: { USAGE_STREAM_LIMIT: String(LIMIT) } },
  });
  reconciliation = await CreditReconciliation.open(stack.servers);
});

afterAll(async () => {
  await reconciliation.close();
  await stack.stop();
  await proxy.close();
  await environment.stop();
});

interface Served {
  readonly status: number;
  readonly code: string | null;
  readonly retryAfter: string | null;
}

async function read(managementKey: string): Promise<Served> {
  const response = await fetch(`${stack.baseUrl}/api/v1/management/credits/prices`, {
    headers: { authorization: `Management ${managementKey}` },
  });
  await response.text();
  const { headers, status } = response;
  return { status, code: headers.get("x-error-code"), retryAfter: headers.get("retry-after") };
}

async function buy(organizationId: string, credits: number, purchaseId: string): Promise<number> {
  const response = await fetch(`${stack.url("organization")}/internal/organizations/${organizationId}/credits`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-service-token": stack.secrets.serviceTokens.operator },
    body: JSON.stringify({ credits, purchaseId }),
  });
  await response.text();
  return response.status;
}

it(
  "without PostgreSQL, requests are charged and no charge is lost; when the usage stream is at its limit, requests are rejected",
  { timeout: TEST_TIMEOUT_MS },
  async () => {
    const { organizationId, managementKey } = await createOrganization(stack, { name: "Charged", credits: CREDITS });
    await eventually(async () => (await read(managementKey)).status === 200);
    await eventually(async () => (await reconciliation.underWay()) === 0);
    const { consumed } = (await reconciliation.of(organizationId)).kept;

    await proxy.refuse();
    const served = await inFlight(LIMIT + REJECTED, AT_ONCE, () => read(managementKey));
    expect(served.filter(({ status }) => status === 200)).toHaveLength(LIMIT);
    const rejected = served.filter(({ status }) => status !== 200);
    expect(rejected).toEqual(
      rejected.map(() => ({ status: 500, code: "DEPENDENCY_UNAVAILABLE", retryAfter: expect.any(String) as string })),
    );
    expect(await reconciliation.underWay()).toBe(LIMIT);
    const purchaseId = randomUUID();
    expect(await buy(organizationId, BOUGHT, purchaseId)).toBeGreaterThanOrEqual(500);

    await proxy.pass();
    await eventually(async () => (await read(managementKey)).status === 200, { timeoutMs: SETTLED_MS });
    await eventually(async () => (await buy(organizationId, BOUGHT, purchaseId)) === 200, { timeoutMs: SETTLED_MS });
    expect(await buy(organizationId, BOUGHT, purchaseId)).toBe(200);
    await eventually(
      async () => {
        expect(await reconciliation.underWay()).toBe(0);
        const { redis, kept, derived, linesSum } = await reconciliation.of(organizationId);
        expect([kept.purchased, kept.reserved]).toEqual([CREDITS + BOUGHT, 0]);
        expect(kept.consumed).toBe(consumed + LIMIT + 1);
        expect([redis, derived, linesSum]).toEqual([kept, kept, kept.consumed]);
      },
      { timeoutMs: SETTLED_MS },
    );
  },
);
