import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { FakeStream } from "../testing/fake-stream.ts";
import type { Account, LiveEvent, LiveHandler } from "./events.ts";
import type { AccountState } from "./follower.ts";
import { Live, type LiveOptions } from "./live.ts";
import type { Place } from "./place.ts";

const ACCOUNT: Account = { serverId: "0197a3c2-6d20-7a10-8b3f-91c5e07d2a02", accountNumber: "10000001" };
const OTHER: Account = { ...ACCOUNT, accountNumber: "10000002" };
const STATE = { account: { accountNumber: "10000001" }, openPositions: [] } as unknown as AccountState;

let stream: FakeStream;
let errors: string[];

beforeEach(() => {
  vi.useFakeTimers();
  stream = new FakeStream();
  errors = [];
});
afterEach(() => vi.useRealTimers());

/** Moves the fake clock by `ms` milliseconds, and runs microtasks and the timers that are due. */
const pass = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

function open(
  load: LiveOptions["places"]["load"] = () => Promise.resolve(null),
  options: Partial<LiveOptions> = {},
  readState: () => Promise<AccountState | null> = () => Promise.resolve(STATE),
): Live {
  return new Live(
    { places: { load }, onError: (error) => errors.push(error.message), ...options },
    { url: "ws://test", authorization: "Management kapi.test", socket: stream.socket, readState },
  );
}

const placeAt = (sequence: number): Place => ({ from: 1, sequence, truncations: [], truncationCount: 0 });

/** A handler that collects what it gets, as short texts. */
function collector(): { handler: LiveHandler; seen: string[]; last: () => Place | null } {
  const seen: string[] = [];
  let last: Place | null = null;
  const handler = (event: LiveEvent): void => {
    seen.push(textOf(event));
    last = event.place;
  };
  return { handler, seen, last: () => last };
}

function textOf(event: LiveEvent): string {
  if (event.type === "sample") return String(event.sample.sequence);
  if (event.type === "reconciled") return `missed ${event.missed.from}-${event.missed.to}`;
  return event.type === "rejected" ? `rejected ${event.code}` : event.type;
}

function publish(count: number, account = ACCOUNT): void {
  for (let number = 0; number < count; number += 1) stream.publish(account, { equity: 100 });
}

describe("following an account", () => {
  it("gives the latest sample first, then every later sample, with amounts as decimal strings", async () => {
    publish(3);
    const live = open();
    const { seen } = collector();
    live.follow(ACCOUNT, (event) => {
      seen.push(event.type === "sample" ? `${event.sample.sequence} ${event.sample.equity}` : event.type);
    });
    await pass();
    stream.publish(ACCOUNT, { equity: 99.5 });
    await pass();
    expect(seen).toEqual(["3 100.00", "4 99.50"]);
    expect(live.proof(ACCOUNT)).toMatchObject({ from: 3, to: 4, contiguous: true, truncations: [] });
    await live.close();
  });

  it("continues after the stored place, without a gap or a repeat", async () => {
    publish(5);
    const live = open(() => Promise.resolve(placeAt(2)));
    const { handler, seen } = collector();
    live.follow(ACCOUNT, handler);
    await pass();
    publish(1);
    await pass();
    expect(seen).toEqual(["3", "4", "5", "6"]);
    expect(live.proof(ACCOUNT)).toMatchObject({ from: 1, to: 6, contiguous: true });
    await live.close();
  });

  it("reads the account, and continues with new samples, if the stored place is beyond the last sample", async () => {
    publish(3);
    const live = open(() => Promise.resolve(placeAt(10)));
    const { handler, seen } = collector();
    live.follow(ACCOUNT, handler);
    await pass();
    publish(1);
    await pass();
    expect(seen).toEqual(["missed 11-3", "4"]);
    await live.close();
  });

  it("continues after every disconnect, whatever its code", async () => {
    const live = open();
    const { handler, seen } = collector();
    publish(1);
    live.follow(ACCOUNT, handler);
    await pass();
    for (const code of [1012, 1006, 4408, 4413]) {
      stream.disconnect(code);
      publish(2);
      await pass(60_000);
    }
    expect(seen).toEqual(["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    expect(errors.length).toBe(4);
    await live.close();
  });

  it("reads the account over the API if samples are no longer available, and says which samples", async () => {
    stream.retainedSamples = 2;
    publish(10);
    const live = open(() => Promise.resolve(placeAt(3)));
    const { handler, seen, last } = collector();
    live.follow(ACCOUNT, handler);
    await pass();
    expect(seen).toEqual(["missed 4-8", "9", "10"]);
    expect(live.proof(ACCOUNT)).toMatchObject({
      from: 1,
      to: 10,
      contiguous: false,
      truncations: [{ from: 4, to: 8 }],
    });
    expect(last()).toEqual({ from: 1, sequence: 10, truncations: [{ from: 4, to: 8 }], truncationCount: 1 });
    await live.close();
  });

  it("repeats the read of the account until it succeeds, before the next sample", async () => {
    stream.retainedSamples = 1;
    publish(10);
    let failures = 3;
    const live = open(
      () => Promise.resolve(placeAt(3)),
      {},
      () => {
        failures -= 1;
        return failures < 0 ? Promise.resolve(STATE) : Promise.reject(new Error("API unavailable"));
      },
    );
    const { handler, seen } = collector();
    live.follow(ACCOUNT, handler);
    await pass(60_000);
    expect(seen).toEqual(["missed 4-9", "10"]);
    expect(errors.filter((text) => text === "API unavailable").length).toBe(3);
    await live.close();
  });

  it("gives an event again after its handler has thrown, before any other event", async () => {
    publish(1);
    const live = open();
    const seen: string[] = [];
    live.follow(ACCOUNT, (event) => {
      seen.push(textOf(event));
      if (seen.length < 3) throw new Error("database unavailable");
    });
    await pass();
    publish(1);
    await pass(60_000);
    expect(seen).toEqual(["1", "1", "1", "2"]);
    await live.close();
  });

  it("does not give an event again if its handler stored the place and then threw", async () => {
    publish(1);
    let stored: Place | null = null;
    const live = open(() => Promise.resolve(stored));
    const seen: string[] = [];
    live.follow(ACCOUNT, (event) => {
      seen.push(textOf(event));
      stored = event.place;
      if (seen.length === 1) throw new Error("the commit was done, its answer was lost");
    });
    await pass(60_000);
    publish(1);
    await pass(60_000);
    expect(seen).toEqual(["1", "2"]);
    await live.close();
  });

  it("ends with the deletion of the account, after the samples before it", async () => {
    publish(1);
    const live = open();
    const { handler, seen } = collector();
    live.follow(ACCOUNT, handler);
    await pass();
    publish(1);
    stream.deleteAccount(ACCOUNT);
    await pass();
    expect(seen).toEqual(["1", "2", "deleted"]);
    expect(live.proof(ACCOUNT)).toMatchObject({ from: 1, to: 2, contiguous: true });
    await live.close();
    expect(live.proof(ACCOUNT)).toMatchObject({ from: 1, to: 2, contiguous: true });
    expect(() => live.proof({ ...ACCOUNT, accountNumber: "99999999" })).toThrow("was never followed");
  });

  it("ends if kapi rejects the subscription", async () => {
    const live = open();
    const { handler, seen } = collector();
    live.follow(ACCOUNT, handler);
    await pass();
    stream.inject(JSON.stringify({ type: "error", code: "ACCOUNT_NOT_FOUND", error: "none", ...ACCOUNT }));
    await pass();
    expect(seen).toEqual(["rejected ACCOUNT_NOT_FOUND"]);
    await live.close();
  });

  it("subscribes again and reports an error if a sample is skipped: the handler gets no gap", async () => {
    publish(1);
    const live = open();
    const { handler, seen } = collector();
    live.follow(ACCOUNT, handler);
    await pass();
    publish(1);
    stream.inject(JSON.stringify({ type: "account.metrics", ...ACCOUNT, sequence: 7, ...ZEROES }));
    publish(1);
    await pass(1_000);
    expect(seen).toEqual(["1", "2", "3"]);
    expect(errors).toEqual(["sample 7 came in place of 3: subscribing again"]);
    await live.close();
  });
});

const ZEROES = { balance: 0, equity: 0, margin: 0, freeMargin: 0, intervalMinimumEquity: 0 };

describe("a handler that is slow", () => {
  it("gets every sample once and in order, although more than 1,000 samples wait", async () => {
    stream.retainedSamples = 10_000;
    publish(1);
    const live = open();
    const seen: number[] = [];
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    live.follow(ACCOUNT, async (event) => {
      if (event.type === "sample") seen.push(event.sample.sequence);
      await held;
    });
    await pass();
    publish(3_000);
    await pass(1_000);
    publish(1);
    release();
    await pass(10_000);
    expect(seen).toEqual(Array.from({ length: 3_002 }, (_each, index) => index + 1));
    await live.close();
  });

  it("does not delay another account", async () => {
    publish(1);
    publish(1, OTHER);
    const live = open();
    live.follow(ACCOUNT, () => new Promise<void>(() => undefined));
    const { handler, seen } = collector();
    live.follow(OTHER, handler);
    await pass();
    publish(2_000);
    publish(5, OTHER);
    await pass(1_000);
    expect(seen).toEqual(["1", "2", "3", "4", "5", "6"]);
    live.unfollow(ACCOUNT);
    live.unfollow(OTHER);
  });
});

describe("connections", () => {
  it("that are silent for 45 s are replaced", async () => {
    stream.isSilent = true;
    const live = open();
    live.follow(ACCOUNT, () => undefined);
    await pass();
    await pass(44_000);
    expect(errors).toEqual([]);
    await pass(5_000);
    expect(errors).toEqual(["the connection of the live stream ended (CLOSED_1006)"]);
    await pass(1_000);
    expect(stream.connectionCount).toBe(1);
    await live.close();
  });

  it("carry a limited number of accounts each, and close when their last account is unfollowed", async () => {
    const live = open(undefined, { accountsPerConnection: 2 });
    const accounts = Array.from({ length: 5 }, (_each, index) => ({ ...ACCOUNT, accountNumber: `1000000${index}` }));
    for (const account of accounts) live.follow(account, () => undefined);
    await pass();
    expect(stream.connectionCount).toBe(3);
    for (const account of accounts) live.unfollow(account);
    await pass(60_000);
    expect(stream.connectionCount).toBe(0);
    expect(errors).toEqual([]);
    await live.close();
  });

  it("that are closing get no account: the next account has a connection at once", async () => {
    publish(1, OTHER);
    const live = open();
    const { handler, seen } = collector();
    live.follow(ACCOUNT, () => undefined);
    await pass();
    live.unfollow(ACCOUNT);
    live.follow(OTHER, handler);
    await pass();
    expect(seen).toEqual(["1"]);
    expect(stream.connectionCount).toBe(1);
    expect(errors).toEqual([]);
    await live.close();
  });

  it("are closed if their last account is unfollowed during the handshake", async () => {
    const live = open();
    live.follow(ACCOUNT, () => undefined);
    live.unfollow(ACCOUNT);
    await pass();
    expect(stream.connectionCount).toBe(0);
    expect(errors).toEqual([]);
    await live.close();
  });

  it("are not opened again if the last account is unfollowed before the reconnect", async () => {
    const live = open();
    live.follow(ACCOUNT, () => undefined);
    await pass();
    stream.disconnect(1006);
    await pass();
    live.unfollow(ACCOUNT);
    await pass(60_000);
    expect(stream.connectionCount).toBe(0);
    live.follow(OTHER, () => undefined);
    await pass(1_000);
    expect(stream.connectionCount).toBe(1);
    await live.close();
  });

  it("move an account to another connection if the server answers TOO_MANY_SUBSCRIPTIONS", async () => {
    publish(1);
    const live = open();
    const { handler, seen } = collector();
    live.follow(OTHER, () => undefined);
    live.follow(ACCOUNT, handler);
    await pass();
    const error = { type: "error", code: "TOO_MANY_SUBSCRIPTIONS", error: "at most 1", ...ACCOUNT };
    stream.inject(JSON.stringify(error));
    await pass(1_000);
    publish(1);
    await pass(1_000);
    expect(stream.connectionCount).toBe(2);
    expect(seen).toEqual(["1", "2"]);
    await live.close();
  });

  it.each([
    [401, "AUTHENTICATION_REQUIRED"],
    [403, "MISSING_SCOPE"],
  ])("end for good if the handshake is answered with %d %s", async (status, code) => {
    stream.rejectNext(status, code);
    const live = open();
    live.follow(ACCOUNT, () => undefined);
    const closed = expect(live.closed).rejects.toMatchObject({ status, code, retryable: false });
    await pass(60_000);
    await closed;
    expect(stream.connectionCount).toBe(0);
    expect(() => live.follow(OTHER, () => undefined)).toThrow("the live stream is closed");
  });

  it.each([
    [402, "INSUFFICIENT_CREDITS"],
    [403, "TOO_MANY_CONNECTIONS"],
    [500, "DEPENDENCY_UNAVAILABLE"],
  ])("are tried again if the handshake is answered with %d %s", async (status, code) => {
    publish(1);
    stream.rejectNext(status, code, 3);
    const live = open();
    const { handler, seen } = collector();
    live.follow(ACCOUNT, handler);
    await pass(120_000);
    expect(seen).toEqual(["1"]);
    expect(errors.length).toBe(3);
    await live.close();
  });

  it("of a revoked key end for good", async () => {
    const live = open();
    live.follow(ACCOUNT, () => undefined);
    const closed = expect(live.closed).rejects.toThrow("the management key was revoked");
    await pass();
    stream.disconnect(4401);
    await pass(60_000);
    await closed;
    expect(stream.connectionCount).toBe(0);
  });
});
