import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { FakeStream } from "../testing/fake-stream.ts";
import type { Account } from "./events.ts";
import { Live } from "./live.ts";

const SERVER = "0197a3c2-6d20-7a10-8b3f-91c5e07d2a02";
const accountOf = (number: number): Account => ({ serverId: SERVER, accountNumber: String(10_000_000 + number) });
const upTo = (last: number): number[] => Array.from({ length: last }, (_each, index) => index + 1);

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** Moves the fake clock by `ms` milliseconds, and runs microtasks and the timers that are due. */
const pass = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

it("accounts whose handlers fail do not stop other accounts, and get each event once when the handlers work again", async () => {
  const stream = new FakeStream();
  stream.retainedSamples = 10_000;
  const failing = upTo(50).map(accountOf);
  const healthy = accountOf(0);
  const seen = new Map([healthy, ...failing].map(({ accountNumber }) => [accountNumber, [] as number[]]));
  const errors: string[] = [];
  let isFailing = true;
  const live = new Live(
    { places: { load: () => Promise.resolve(null) }, onError: ({ message }) => errors.push(message) },
    {
      url: "ws://test",
      authorization: "Management kapi.test",
      socket: stream.socket,
      readState: () => Promise.resolve(null),
    },
  );
  for (const account of [healthy, ...failing]) {
    stream.publish(account);
    live.follow(account, (event) => {
      if (isFailing && account !== healthy) throw new Error("database unavailable");
      if (event.type === "sample") seen.get(account.accountNumber)?.push(event.sample.sequence);
    });
  }
  await pass();
  for (const account of failing) for (let count = 0; count < 1_200; count += 1) stream.publish(account);
  await pass();
  for (let count = 0; count < 3; count += 1) {
    stream.publish(healthy);
    await pass(5_000);
  }
  expect(seen.get(healthy.accountNumber)).toEqual(upTo(4));
  expect(errors).toContain("the handler is slow: 1000 events waited; the last 510 are read again later");
  isFailing = false;
  await pass(60_000);
  for (const account of failing) {
    expect(seen.get(account.accountNumber)).toEqual(upTo(1_201));
    expect(live.proof(account)).toMatchObject({ from: 1, to: 1_201, contiguous: true });
  }
  await live.close();
}, 20_000);
