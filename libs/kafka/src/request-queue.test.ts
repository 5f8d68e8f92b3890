/** Tests the part of kafkajs's request queue that `patches/kafkajs+2.2.4.patch` changes. */
import { createRequire } from "node:module";

import { afterEach, beforeEach, expect, test, vi } from "vitest";

interface RequestQueue {
  push(request: object): void;
  fulfillRequest(answer: { correlationId: number; payload: object; size: number }): void;
}

const RequestQueue = createRequire(import.meta.url)("kafkajs/src/network/requestQueue") as new (
  options: object,
) => RequestQueue;
const IN_FLIGHT = 1;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("the request queue of kafkajs runs a timer only while a request waits for its turn", () => {
  const logger = { debug: () => undefined };
  const queue = new RequestQueue({ maxInFlightRequests: IN_FLIGHT, requestTimeout: 1_000, clientId: "", logger });
  const sent: number[] = [];
  const push = (correlationId: number): void =>
    queue.push({
      entry: { correlationId, resolve: () => undefined, reject: () => undefined },
      expectResponse: true,
      sendRequest: () => void sent.push(correlationId),
    });
  const answer = (correlationId: number): void => queue.fulfillRequest({ correlationId, payload: {}, size: 0 });
  push(1);
  expect(vi.getTimerCount()).toBe(0);
  push(2);
  expect(vi.getTimerCount()).toBe(1);
  answer(1);
  answer(2);
  vi.runAllTimers();
  expect({ sent, timers: vi.getTimerCount() }).toEqual({ sent: [1, 2], timers: 0 });
});
