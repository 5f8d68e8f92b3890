import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { keptDemo } from "../src/demo/demo.ts";

let stack: TestStack;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "kapi-demo-"));
  stack = await startTestStack({ together: true });
});
afterAll(async () => {
  await stack.stop();
  rmSync(folder, { recursive: true });
});

it("a later start has the demo accounts of the first start, without those that were deleted", async () => {
  const first = await keptDemo(stack, folder);
  expect(first.accountNumbers).toHaveLength(3);
  const [deleted, ...kept] = first.accountNumbers;
  const account = `${stack.baseUrl}/api/v1/management/servers/${first.serverId}/accounts/${deleted}`;
  const headers = { authorization: `Management ${first.managementKey}` };
  const { status } = await fetch(`${account}?requestId=gone`, { method: "DELETE", headers });
  expect(status).toBe(200);
  await eventually(async () => expect((await fetch(account, { headers })).status).toBe(404));
  expect((await keptDemo(stack, folder)).accountNumbers).toEqual(kept);
});
