import { afterEach, expect, it, vi } from "vitest";

import { Urgency } from "./urgency.ts";

const LONG_MS = 60_000;

afterEach(() => vi.useRealTimers());

it("a pause ends when a caller begins to wait, and later pauses end at once until the last caller has its answer", async () => {
  const urgency = new Urgency();
  const pause = urgency.pause(LONG_MS);
  const [endFirst, endSecond] = [urgency.begin(), urgency.begin()];
  await pause;
  endFirst();
  endFirst();
  await urgency.pause(LONG_MS);
  endSecond();
  let isOver = false;
  const next = urgency.pause(LONG_MS).then(() => (isOver = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  urgency.begin();
  await next;
});

it("a pause ends after its time", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let isOver = false;
  void new Urgency().pause(LONG_MS).then(() => (isOver = true));
  await vi.advanceTimersByTimeAsync(LONG_MS - 1);
  expect(isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(isOver).toBe(true);
});
