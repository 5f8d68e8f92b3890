import { randomUUID } from "node:crypto";

import { CreditUsageAnswer, DEFAULT_PAGE_LIMIT } from "@kapi/contracts";
import { admit, ALL_SHARDS, refund } from "@kapi/admission/redis";
import { delay } from "@kapi/kernel";
import { afterAll, beforeAll, expect, test } from "vitest";

import { purchaseCredits } from "../src/operations/credits/purchase-credits.ts";
import { listCreditUsage } from "../src/operations/credits/list-credit-usage.ts";
import { recordAllUsage } from "../src/operations/credits/record-usage.ts";
import { createUsageLines } from "../src/outbound/postgres/credits/usage-lines.ts";
import { finish, ledgerSums, organizationWith, read, reserve, startLedger, type LedgerHarness } from "./support.ts";

let harness: LedgerHarness;
beforeAll(async () => {
  harness = await startLedger();
});
afterAll(() => harness.stop());

type Answer = ReturnType<typeof CreditUsageAnswer.parse>;

/** `createdBy` of all lines: the management key of the requests that `support.ts` makes. */
const KEY = { type: "key", id: "aaaaaaaaaaaaaaaa" } as const;

async function usage(organizationId: string, page = 1, limit = DEFAULT_PAGE_LIMIT): Promise<Answer> {
  return CreditUsageAnswer.parse(
    await listCreditUsage(createUsageLines(harness.database), organizationId, { page, limit }),
  );
}

async function expectSum(organizationId: string): Promise<void> {
  const { kept } = await ledgerSums(harness, organizationId);
  const { usage: lines, pagination } = await usage(organizationId, 1, 100);
  expect(pagination.total).toBe(lines.length);
  expect(lines.reduce((sum, line) => sum + line.credits, 0)).toBe(kept.consumed + kept.reserved);
}

test("every billed request and reservation is a usage line, newest first; a release is a negative line, and a purchase is no line", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 1_000);
  await read(context, organizationId, 3);
  await recordAllUsage(context, ALL_SHARDS);
  await expectSum(organizationId);
  const kept = await reserve(context, organizationId, 5);
  // Lines of the same millisecond have no order in time.
  await delay(2);
  const released = await reserve(context, organizationId, 7);
  await recordAllUsage(context, ALL_SHARDS);
  await expectSum(organizationId);
  await finish(context, organizationId, kept, 5);
  await finish(context, organizationId, released, 7, "release");
  await purchaseCredits(context, { organizationId, credits: 50, purchaseId: randomUUID() });
  await expectSum(organizationId);
  const { usage: lines } = await usage(organizationId);
  expect(
    lines.map(({ credits, commandId, operation, xRequestId }) => ({ credits, commandId, operation, xRequestId })),
  ).toEqual([
    { credits: -7, commandId: released, operation: "getCommand", xRequestId: "request" },
    { credits: 7, commandId: released, operation: "getCommand", xRequestId: "request" },
    { credits: 5, commandId: kept, operation: "getCommand", xRequestId: "request" },
    { credits: 3, commandId: null, operation: "getCommand", xRequestId: "request" },
  ]);
  expect(lines.map(({ createdBy }) => createdBy)).toEqual([KEY, KEY, KEY, KEY]);
  expect(lines.map(({ at }) => at)).toEqual(
    lines
      .map(({ at }) => at)
      .toSorted()
      .toReversed(),
  );
});

test("a refunded request has a second, negative usage line", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 100);
  await recordRefund(organizationId);
  await recordAllUsage(context, ALL_SHARDS);
  await expectSum(organizationId);
  const { usage: lines } = await usage(organizationId);
  expect(lines.map(({ credits, createdBy }) => [credits, createdBy])).toEqual([
    [-4, KEY],
    [4, KEY],
  ]);
});

async function recordRefund(organizationId: string): Promise<void> {
  const { context } = harness;
  const chargeId = randomUUID();
  const request = { organizationId, chargeId, callerName: KEY.id, operation: "getCommand", requestId: "request" };
  await admit(context.redis, {
    ...request,
    mode: "consume",
    price: 4,
    readPrice: 1,
    rateLimit: null,
    records: [],
  });
  await refund(context.redis, request);
}

test("a reservation that is recorded together with its settlement is one usage line, and repeating the settlement changes no sum", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 100);
  const commandId = await reserve(context, organizationId, 9);
  await finish(context, organizationId, commandId, 9);
  await expectSum(organizationId);
  await recordAllUsage(context, ALL_SHARDS);
  expect((await usage(organizationId)).usage).toMatchObject([{ createdBy: KEY }]);
  await finish(context, organizationId, commandId, 9);
  await expectSum(organizationId);
  expect((await usage(organizationId)).usage).toMatchObject([{ credits: 9, commandId, xRequestId: "request" }]);
});

test("pages split the list of usage lines, and free requests are no lines", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 1_000);
  for (let price = 0; price < 12; price += 1) await read(context, organizationId, price);
  await recordAllUsage(context, ALL_SHARDS);
  const pages = await Promise.all([1, 2, 3, 4].map((page) => usage(organizationId, page, 5)));
  expect(pages.flatMap((page) => page.usage.map(({ credits }) => credits)).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 11 }, (_, index) => index + 1),
  );
  expect(pages[0]?.pagination).toMatchObject({ page: 1, limit: 5, total: 11, totalPages: 3 });
  expect((await usage(randomUUID())).pagination).toMatchObject({ total: 0, totalPages: 0 });
});
