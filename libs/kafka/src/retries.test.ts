import { TOPICS } from "@kapi/contracts";
import { createLogger } from "@kapi/runtime";
import type { EachBatchPayload } from "kafkajs";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { RetryableError } from "./errors.ts";
import { Retries } from "./retries.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("a partition whose batch failed is resumed after a pause, but never after the stop, even if the batch fails after the stop", async () => {
  const retries = new Retries({ groupId: "test", logger: createLogger({ service: "test", level: "silent" }) });
  const resume = vi.fn();
  const payload = { batch: { partition: 0 }, pause: () => resume } as unknown as EachBatchPayload;
  const fail = (): void => retries.later(TOPICS.commandEvents, new RetryableError("unavailable"), payload);
  fail();
  await vi.runAllTimersAsync();
  expect(resume).toHaveBeenCalledTimes(1);
  fail();
  retries.stop();
  // A batch that was running at the stop.
  fail();
  await vi.runAllTimersAsync();
  expect(resume).toHaveBeenCalledTimes(1);
});
