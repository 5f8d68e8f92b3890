import { TestClock } from "@kapi/testkit";
import { expect, it } from "vitest";

import { encodeSampleHeaders } from "../domain/codec/sample-headers.ts";
import { SampleWindows } from "../domain/sample-windows.ts";
import { readLatestSamples } from "./read-latest-samples.ts";
import { SampleLog } from "./sample-log.ts";

const SERVER = "5b0c8a0e-9d7f-4c5b-8f8e-1f2f3f4f5f6f";

it("a sample that is no JSON, or has another shape, counts as none and fails no other account", () => {
  const limits = { maxSamples: 300, maxAgeMs: 300_000, budgetBytes: 1_024 * 1_024, slabBytes: 64 * 1_024 };
  const log = new SampleLog({ windows: new SampleWindows(limits), clock: new TestClock(0) });
  const headers = encodeSampleHeaders({ sequence: 1, from: -1, to: 4 });
  for (const [index, value] of ["not JSON", "{}"].entries()) {
    const key = `${SERVER}/1000000${index}`;
    log.apply(0, [{ key, value: Buffer.from(value), headers, offset: BigInt(index), timestampMs: 0 }]);
  }
  const accounts = ["10000000", "10000001", "10000002"].map((accountNumber) => ({ serverId: SERVER, accountNumber }));
  expect(readLatestSamples(log, accounts)).toEqual([null, null, null]);
});
