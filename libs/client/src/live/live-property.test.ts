import fc from "fast-check";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { FakeStream } from "../testing/fake-stream.ts";
import type { Account, LiveEvent } from "./events.ts";
import type { AccountState } from "./follower.ts";
import { Live } from "./live.ts";
import type { Place } from "./place.ts";

const ACCOUNT: Account = { serverId: "0197a3c2-6d20-7a10-8b3f-91c5e07d2a02", accountNumber: "10000001" };
const STATE = { account: { accountNumber: "10000001" }, openPositions: [] } as unknown as AccountState;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** Moves the fake clock by `ms` milliseconds, and runs microtasks and the timers that are due. */
const pass = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

it("each sample is handled once or reported as missed, whatever disconnects, truncations, errors and restarts occur", async () => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant("publish" as const), count: fc.integer({ min: 1, max: 8 }) }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("disconnect" as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("wait" as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("throw" as const), stores: fc.boolean() }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const stream = new FakeStream();
      stream.retainedSamples = 10;
      const handled: number[] = [];
      const missed: { from: number; to: number }[] = [];
      let stored: Place | null = null;
      let failure: { readonly stores: boolean } | null = null;
      const store = (event: LiveEvent): void => {
        stored = event.place;
        if (event.type === "sample") handled.push(event.sample.sequence);
        if (event.type === "reconciled") missed.push(event.missed);
      };
      const handler = (event: LiveEvent): void => {
        const thrown = failure;
        failure = null;
        if (thrown === null || thrown.stores) store(event);
        if (thrown !== null) throw new Error("handler");
      };
      const start = (): Live => {
        const socket = stream.socket;
        const live = new Live(
          { places: { load: () => Promise.resolve(stored) } },
          { url: "ws://test", authorization: "Management kapi.test", socket, readState: () => Promise.resolve(STATE) },
        );
        live.follow(ACCOUNT, handler);
        return live;
      };
      stream.publish(ACCOUNT);
      let live = start();
      await pass();
      for (const each of steps) {
        if (each.kind === "publish") for (let count = 0; count < each.count; count += 1) stream.publish(ACCOUNT);
        if (each.kind === "disconnect") stream.disconnect();
        if (each.kind === "throw") failure = each;
        if (each.kind === "restart") {
          await live.close();
          live = start();
        }
        await pass(each.kind === "wait" ? 60_000 : 1);
      }
      await pass(120_000);
      const last = stream.publish(ACCOUNT);
      await pass(60_000);
      const proof = live.proof(ACCOUNT);
      await live.close();
      const expected: number[] = [];
      for (let sequence = 1; sequence <= last; sequence += 1) {
        if (!missed.some(({ from, to }) => sequence >= from && sequence <= to)) expected.push(sequence);
      }
      expect(handled).toEqual(expected);
      expect(proof).toMatchObject({ from: 1, to: last, contiguous: missed.length === 0, truncations: missed });
    }),
    { numRuns: 60 },
  );
}, 60_000);
