import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { delay } from "../delay.ts";
import type { LiveHandler, ServerMessage } from "./events.ts";
import { type AccountState, Follower } from "./follower.ts";
import type { Place } from "./place.ts";

const ACCOUNT = { serverId: "0197a3c2-6d20-7a10-8b3f-91c5e07d2a02", accountNumber: "10000001" };
const STATE = { account: { accountNumber: "10000001" }, openPositions: [] } as unknown as AccountState;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** Moves the fake clock by `ms` milliseconds, and runs microtasks and the timers that are due. */
const pass = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

const placeAt = (sequence: number): Place => ({ from: 1, sequence, truncations: [], truncationCount: 0 });

/** A follower on an open connection, and the messages that it sends. */
function follow(load: () => Promise<Place | null>, handler: LiveHandler): { follower: Follower; sent: object[] } {
  const sent: object[] = [];
  const follower = new Follower(ACCOUNT, handler, {
    load,
    readState: () => Promise.resolve(STATE),
    onError: () => undefined,
    send: (_follower, message) => sent.push(message) > 0,
    onQueued: () => undefined,
    onEnded: () => undefined,
    onCaughtUp: () => undefined,
    delay,
  });
  return { follower, sent };
}

function sample(sequence: number): ServerMessage {
  const values = { balance: 0, equity: 0, margin: 0, freeMargin: 0, intervalMinimumEquity: 0 };
  return { type: "account.metrics", ...ACCOUNT, sequence, ...values };
}

/** The answer to a subscription with `afterSequence` 1: samples 2 and 3 will follow. */
const REPLAY: ServerMessage = {
  type: "account.metrics.replay",
  ...ACCOUNT,
  lastAvailableSequence: 3,
  replayTruncated: false,
  replayCount: 2,
};

it("a follower loads the stored place once, even if the connection is replaced during the load", async () => {
  const handled: number[] = [];
  const load = async (): Promise<Place> => {
    await delay(1_000);
    return placeAt(1);
  };
  const { follower, sent } = follow(load, (event) => {
    if (event.type === "sample") handled.push(event.sample.sequence);
  });
  void follower.attach();
  await pass(500);
  follower.detach();
  void follower.attach();
  await pass(500);
  for (const message of [REPLAY, sample(2), sample(3)]) follower.receive(message);
  await pass(500);
  follower.receive(sample(4));
  await pass();
  expect(handled).toEqual([2, 3, 4]);
  expect(sent).toEqual([{ type: "subscribe", ...ACCOUNT, afterSequence: 1 }]);
  expect(follower.place).toEqual(placeAt(4));
});

it("a follower ends without an error if the account is unfollowed while the stored place cannot be loaded", async () => {
  let isAvailable = true;
  const unavailable = new Error("database unavailable");
  const { follower } = follow(
    () => (isAvailable ? Promise.resolve(placeAt(1)) : Promise.reject(unavailable)),
    () => {
      isAvailable = false;
      throw unavailable;
    },
  );
  await follower.attach();
  for (const message of [REPLAY, sample(2)]) follower.receive(message);
  await pass();
  follower.end();
  await pass(1_000);
  await expect(follower.settled()).resolves.toBeUndefined();
  expect(follower.place).toEqual(placeAt(1));
});

it("a follower does not call the handler if the account is unfollowed while the client reads the account because samples are missing", async () => {
  const handler = vi.fn<LiveHandler>();
  const { follower } = follow(() => Promise.resolve(placeAt(1)), handler);
  await follower.attach();
  follower.receive({ ...REPLAY, lastAvailableSequence: 9, replayTruncated: true });
  follower.end();
  await pass();
  expect(handler).not.toHaveBeenCalled();
});

it("a follower drops the newest messages of a long queue, and subscribes to them again after the other messages are handled", async () => {
  const handled: number[] = [];
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const { follower, sent } = follow(
    () => Promise.resolve(placeAt(1)),
    async (event) => {
      await held;
      if (event.type === "sample") handled.push(event.sample.sequence);
    },
  );
  await follower.attach();
  for (const message of [REPLAY, sample(2), sample(3), sample(4), sample(5)]) follower.receive(message);
  follower.shed(4);
  follower.shed(2);
  follower.receive(sample(6));
  release();
  await pass();
  await follower.attach();
  for (const message of [sample(7), REPLAY, sample(4), sample(5)]) follower.receive(message);
  await pass();
  expect(handled).toEqual([2, 3, 4, 5]);
  expect(sent).toEqual([
    { type: "subscribe", ...ACCOUNT, afterSequence: 1 },
    { type: "unsubscribe", ...ACCOUNT },
    { type: "subscribe", ...ACCOUNT, afterSequence: 3 },
  ]);
});
