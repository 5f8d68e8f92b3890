/**
 * Concurrent requests through several gateways use exactly the purchased credits. The wallet is
 * never negative.
 */
import { createOrganization } from "@kapi/local";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { eventually } from "@kapi/testkit";
import { Pool } from "undici";
import { afterAll, beforeAll, expect, it } from "vitest";

import { CreditReconciliation } from "./credit-reconciliation.ts";

const REQUESTS = 2_000;
const CREDITS = 1_000;
/**
 * Concurrent requests of each gateway. A gateway waits at most 600 ms for Redis. If all 2,000
 * requests were sent at the same time, a slow machine would answer some of them with 500.
 */
const CONNECTIONS_PER_GATEWAY = 100;
const CONNECT_TIMEOUT_MS = 30_000;
const TEST_TIMEOUT_MS = 120_000;
const SETTLED_MS = 20_000;

let stack: TestStack;
let reconciliation: CreditReconciliation;

beforeAll(async () => {
  stack = await startTestStack({ services: ["gateway", "organization", "command-status"], twice: ["gateway"] });
  reconciliation = await CreditReconciliation.open(stack.servers);
});

afterAll(async () => {
  await reconciliation.close();
  await stack.stop();
});

interface Served {
  readonly status: number;
  readonly remaining: number;
}

/**
 * Sends `count` requests, every second one through the second gateway. Each gateway gets at most
 * {@link CONNECTIONS_PER_GATEWAY} at the same time.
 */
async function sendConcurrently(managementKey: string, count: number): Promise<Served[]> {
  const headers = { authorization: `Management ${managementKey}` };
  const urls = [stack.baseUrl, stack.process("gateway-2").url];
  const pools = urls.map(
    (url) => new Pool(url, { connections: CONNECTIONS_PER_GATEWAY, connect: { timeout: CONNECT_TIMEOUT_MS } }),
  );
  const served = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const path = `/api/v1/management/credits/${index % 4 < 2 ? "prices" : "balance"}`;
      const answer = await pools[index % pools.length]?.request({ method: "GET", path, headers });
      await answer?.body.dump();
      return { status: answer?.statusCode ?? 0, remaining: Number(answer?.headers["x-credits-remaining"]) };
    }),
  );
  await Promise.all(pools.map((pool) => pool.close()));
  return served;
}

it(
  `${CREDITS} credits pay for exactly ${CREDITS} of ${REQUESTS} concurrent requests through two gateways: all other requests are 402, and 0 credits remain`,
  { timeout: TEST_TIMEOUT_MS },
  async () => {
    const { organizationId, managementKey } = await createOrganization(stack, { name: "Last", credits: CREDITS });
    await eventually(async () => {
      // The organization has no such server. A gateway that knows the key returns 403.
      const urls = [stack.baseUrl, stack.process("gateway-2").url];
      const answers = await Promise.all(
        urls.map((url) =>
          fetch(`${url}/api/v1/management/servers/00000000-0000-4000-8000-000000000000/configuration`, {
            headers: { authorization: `Management ${managementKey}` },
          }),
        ),
      );
      return answers.every(({ status }) => status === 403);
    });

    const served = await sendConcurrently(managementKey, REQUESTS);
    const counts = Object.fromEntries(
      [...Map.groupBy(served, ({ status }) => status)].map(([status, of]) => [status, of.length]),
    );
    expect(counts).toEqual({ 200: CREDITS, 402: REQUESTS - CREDITS });
    // Each successful response has a different balance, down to 0.
    const remaining = served.filter(({ status }) => status === 200).map((answer) => answer.remaining);
    expect(remaining.toSorted((a, b) => a - b)).toEqual(Array.from({ length: CREDITS }, (_, left) => left));

    const left = { available: 0, reserved: 0, consumed: CREDITS, purchased: CREDITS };
    expect((await reconciliation.of(organizationId)).redis).toEqual(left);
    await eventually(
      async () => {
        const { kept, derived, linesSum } = await reconciliation.of(organizationId);
        expect({ kept, derived, linesSum }).toEqual({ kept: left, derived: left, linesSum: CREDITS });
      },
      { timeoutMs: SETTLED_MS },
    );
    expect(await reconciliation.lines(organizationId)).toHaveLength(CREDITS);
  },
);
