/** Sessions of the console, and the brake on signing in. */
import { randomUUID } from "node:crypto";

import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";

import {
  beginSignIn,
  closeConsoleSession,
  consoleSessionKey,
  consoleSessionsExist,
  FREE_FAILURES_PER_ADDRESS,
  FREE_FAILURES_PER_EMAIL,
  openConsoleSession,
  type RedisConnection,
  SIGN_IN_WINDOW_MS,
  signInAddressKey,
  signInEmailKey,
  type SignInSubject,
  takeBackSignIn,
  useConsoleSession,
} from "../src/index.ts";
import { connectEmpty } from "./support.ts";

let redis: RedisConnection;
let stop: () => Promise<void>;
beforeAll(async () => {
  ({ redis, stop } = await connectEmpty());
});
afterAll(() => stop());

const AHEAD_MS = 600_000;
const STATE = { userId: randomUUID(), version: 3, csrfToken: "token" };

function newSubject(changes: Partial<SignInSubject> = {}): SignInSubject {
  return { emailHash: randomUUID(), address: randomUUID(), ...changes };
}

/** As if so much time had passed since the last failure. */
async function passTime({ emailHash }: SignInSubject, ms: number): Promise<void> {
  const key = signInEmailKey(emailHash);
  await redis.commands.hset(key, "at", Number(await redis.commands.hget(key, "at")) - ms);
}

async function redisTime(): Promise<number> {
  const [seconds, microseconds] = await redis.commands.time();
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}

test("a session is there until it is closed, and each use keeps it for as long again", async () => {
  const hash = randomUUID();
  await openConsoleSession(redis, hash, STATE);
  expect(await useConsoleSession(redis, hash)).toMatchObject(STATE);
  await redis.commands.pexpire(consoleSessionKey(hash), 60_000);
  await useConsoleSession(redis, hash);
  expect(await redis.commands.pttl(consoleSessionKey(hash))).toBeGreaterThan(60_000);
  expect(await consoleSessionsExist(redis, [hash, randomUUID()])).toEqual([true, false]);
  await closeConsoleSession(redis, hash);
  expect(await useConsoleSession(redis, hash)).toBeNull();
});

test("a session ends when nobody used it for its idle time, and at its full age however much it is used", async () => {
  const [idle, old] = [randomUUID(), randomUUID()];
  await openConsoleSession(redis, idle, STATE, { idleMs: 30, absoluteMs: 60_000 });
  await openConsoleSession(redis, old, STATE);
  await eventually(async () => (await consoleSessionsExist(redis, [idle]))[0] === false);
  await eventually(async () => (await useConsoleSession(redis, old, { idleMs: 60_000, absoluteMs: 200 })) === null);
  const young = randomUUID();
  await openConsoleSession(redis, young, STATE);
  await useConsoleSession(redis, young, { idleMs: 60_000, absoluteMs: 5_000 });
  expect(await redis.commands.pttl(consoleSessionKey(young))).toBeLessThanOrEqual(5_000);
});

test("after five failures each attempt waits 1, 2, 4 … 60 seconds from the last one, and one that waits is not counted", async () => {
  const subject = newSubject();
  for (let failure = 0; failure < FREE_FAILURES_PER_EMAIL; failure += 1)
    expect(await beginSignIn(redis, subject)).toBe(0);
  for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
    // A while ahead, so that the wait is not over before it was asked for.
    await passTime(subject, -AHEAD_MS);
    const end = Number(await redis.commands.hget(signInEmailKey(subject.emailHash), "at")) + seconds * 1_000;
    const before = await redisTime();
    const wait = await beginSignIn(redis, subject);
    expect(wait).toBeLessThanOrEqual(end - before);
    expect(wait).toBeGreaterThanOrEqual(end - (await redisTime()));
    await passTime(subject, AHEAD_MS + seconds * 1_000);
    expect(await beginSignIn(redis, { ...subject, address: randomUUID() })).toBe(0);
  }
  expect(await redis.commands.pttl(signInEmailKey(subject.emailHash))).toBeGreaterThan(SIGN_IN_WINDOW_MS - 60_000);
});

test("attempts at once are counted one by one: no more than the free ones get through", async () => {
  const subject = newSubject();
  const waits = await Promise.all(Array.from({ length: 50 }, () => beginSignIn(redis, subject)));
  expect(waits.filter((wait) => wait === 0)).toHaveLength(FREE_FAILURES_PER_EMAIL);
});

test("a success clears the e-mail address and only its own attempt of the network address; what is undecided is not counted", async () => {
  const address = randomUUID();
  for (let failure = 0; failure < FREE_FAILURES_PER_ADDRESS - 1; failure += 1) {
    await beginSignIn(redis, newSubject({ address }));
  }
  const good = newSubject({ address });
  expect(await beginSignIn(redis, good)).toBe(0);
  await takeBackSignIn(redis, good, "succeeded");
  expect(await redis.commands.exists(signInEmailKey(good.emailHash))).toBe(0);
  expect(await redis.commands.hget(signInAddressKey(address), "failures")).toBe(String(FREE_FAILURES_PER_ADDRESS - 1));
  const undecided = newSubject({ address });
  await beginSignIn(redis, undecided);
  await beginSignIn(redis, { ...undecided, address: randomUUID() });
  await takeBackSignIn(redis, undecided, "undecided");
  expect(await redis.commands.hget(signInEmailKey(undecided.emailHash), "failures")).toBe("1");
  await beginSignIn(redis, newSubject({ address }));
  expect(await beginSignIn(redis, newSubject({ address }))).toBeGreaterThan(0);
});

test("who fails elsewhere keeps nobody out of a network they have signed in from, and gets no more attempts by their success", async () => {
  const home = newSubject();
  await beginSignIn(redis, home);
  await takeBackSignIn(redis, home, "succeeded");
  const elsewhere = { ...home, address: randomUUID() };
  for (let failure = 0; failure < FREE_FAILURES_PER_EMAIL; failure += 1) await beginSignIn(redis, elsewhere);
  expect(await beginSignIn(redis, elsewhere)).toBeGreaterThan(0);
  expect(await beginSignIn(redis, home)).toBe(0);
  await takeBackSignIn(redis, home, "succeeded");
  await passTime(home, -AHEAD_MS);
  expect(await beginSignIn(redis, elsewhere)).toBeGreaterThan(0);
  for (let failure = 0; failure < FREE_FAILURES_PER_EMAIL; failure += 1) {
    expect(await beginSignIn(redis, home)).toBe(0);
  }
  expect(await beginSignIn(redis, home)).toBeGreaterThan(0);
});
