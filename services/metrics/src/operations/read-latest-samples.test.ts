import { TestClock } from "@kapi/testkit";
import { expect, it } from "vitest";

import { encodeLiveFrame } from "../domain/codec/live-frame.ts";
import { encodeSampleHeaders } from "@kapi/contracts/codec";
import type { Sample } from "../domain/sample.ts";
import { SampleWindows } from "../domain/sample-windows.ts";
import { readLatestSamples } from "./read-latest-samples.ts";
import { SampleLog } from "./sample-log.ts";

const SERVER = "5b0c8a0e-9d7f-4c5b-8f8e-1f2f3f4f5f6f";
const SAMPLE: Sample = {
  range: { sequence: 1, from: -1, to: 4 },
  values: {
    balanceMinor: 1_000_000,
    equityMinor: 1_012_345,
    marginMinor: 0,
    freeMarginMinor: 1_012_345,
    marginLevel: 0,
    openPositionCount: 1,
  },
  measuredAt: "2026-03-01T10:00:00.123Z",
  minimum: { equityMinor: 1_000_001, measuredAt: "2026-03-01T09:59:59.999Z" },
};

it("the latest sample is null for an account without samples or with an unreadable sample; other accounts still have theirs", () => {
  const limits = { maxSamples: 300, maxAgeMs: 300_000, budgetBytes: 1_024 * 1_024, slabBytes: 64 * 1_024 };
  const log = new SampleLog({ windows: new SampleWindows(limits), clock: new TestClock(0), partitionOf: () => 0 });
  const headers = encodeSampleHeaders(SAMPLE.range);
  const accounts = ["10000000", "10000001", "10000002", "10000003"].map((accountNumber) => ({
    serverId: SERVER,
    accountNumber,
  }));
  const valid = encodeLiveFrame({ serverId: SERVER, accountNumber: "10000002" }, SAMPLE);
  for (const [index, value] of [Buffer.from("not JSON"), Buffer.from("{}"), valid].entries()) {
    const key = `${SERVER}/1000000${index}`;
    log.apply(0, [{ key, value, headers, offset: BigInt(index), timestampMs: 0 }]);
  }
  const shown = expect.objectContaining({ accountNumber: "10000002", sequence: 1, equity: 10_123.45 });
  expect(readLatestSamples(log, accounts)).toEqual([null, null, shown, null]);
});
