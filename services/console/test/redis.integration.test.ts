/** Sessions of the console, the rate limiter of sign-ins, and the counts of requests for mails. */
import { randomUUID } from "node:crypto";

import { createLogger } from "@kapi/runtime";
import { startRedis, type RedisConnection } from "@kapi/redis";
import { createTestEnvironment, eventually, startTestRedisCluster } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { ConsoleSessions, SignInAttempts, SignInSubject } from "../src/domain/ports.ts";
import { CONSOLE_LIBRARY } from "../src/outbound/redis/console-library.ts";
import {
  consoleSessionKey,
  createConsoleSessions,
  MAX_SESSIONS_PER_USER,
} from "../src/outbound/redis/console-sessions.ts";
import {
  createRecoveryLimits,
  MAX_MAILS_PER_EMAIL,
  RECOVERY_WINDOW_MS,
  recoveryAddressKey,
  recoveryEmailKey,
} from "../src/outbound/redis/recovery-limits.ts";
import {
  createSignInAttempts,
  FREE_FAILURES_PER_ADDRESS,
  FREE_FAILURES_PER_EMAIL,
  SIGN_IN_WINDOW_MS,
  signInAddressKey,
  signInEmailKey,
} from "../src/outbound/redis/sign-in-attempts.ts";

const AHEAD_MS = 600_000;
const STATE = { userId: randomUUID(), version: 3, csrfToken: "token", proof: "own" } as const;
const NEW = { ...STATE, address: "192.0.2.1", userAgent: null };

function newSubject(changes: Partial<SignInSubject> = {}): SignInSubject {
  return { emailHash: randomUUID(), network: randomUUID(), ...changes };
}

interface Server {
  readonly url: string | readonly string[];
  readonly cluster: boolean;
  stop(): Promise<void>;
}

async function oneRedis(): Promise<Server> {
  const environment = await createTestEnvironment({ needs: ["redis"] });
  return { url: environment.redisUrl, cluster: false, stop: () => environment.stop() };
}

async function redisCluster(): Promise<Server> {
  const cluster = await startTestRedisCluster();
  return { url: cluster.masters.map(({ url }) => url), cluster: true, stop: () => cluster.stop() };
}

describe.each([
  ["one Redis", oneRedis],
  ["a cluster", redisCluster],
])("in %s", (_, start) => {
  let server: Server;
  let redis: RedisConnection;
  let stop: () => Promise<void>;
  let sessions: ConsoleSessions;
  let attempts: SignInAttempts;
  beforeAll(async () => {
    server = await start();
    const logger = createLogger({ service: "console-test", level: "silent" });
    const { url, cluster } = server;
    const options = { url, cluster, clientName: "console-test", functionLibraries: [CONSOLE_LIBRARY], logger };
    ({ value: redis, stop } = await startRedis(options));
    sessions = createConsoleSessions(redis);
    attempts = createSignInAttempts(redis);
  });
  afterAll(async () => {
    await stop();
    await server.stop();
  });

  /** Moves the last failure of an e-mail address into the past, or if `ms` < 0 into the future. */
  async function passTime({ emailHash }: SignInSubject, ms: number): Promise<void> {
    const key = signInEmailKey(emailHash);
    await redis.commands.hset(key, "at", Number(await redis.commands.hget(key, "at")) - ms);
  }

  async function redisTime(): Promise<number> {
    const [seconds, microseconds] = await redis.commands.time();
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  }

  test("a session exists until it is closed, and each use restarts its idle time", async () => {
    const hash = randomUUID();
    await sessions.open(hash, NEW);
    expect(await sessions.use(hash)).toMatchObject(STATE);
    await redis.commands.pexpire(consoleSessionKey(hash), 60_000);
    await sessions.use(hash);
    expect(await redis.commands.pttl(consoleSessionKey(hash))).toBeGreaterThan(60_000);
    expect(await sessions.exist([hash, randomUUID()])).toEqual([true, false]);
    await sessions.close(hash);
    expect(await sessions.use(hash)).toBeNull();
  });

  test("a session ends after its idle time, and at its maximum age although it is used", async () => {
    const [idle, old] = [randomUUID(), randomUUID()];
    await createConsoleSessions(redis, { idleMs: 30, absoluteMs: 60_000 }).open(idle, NEW);
    await sessions.open(old, NEW);
    await eventually(async () => (await sessions.exist([idle]))[0] === false);
    await eventually(
      async () => (await createConsoleSessions(redis, { idleMs: 60_000, absoluteMs: 200 }).use(old)) === null,
    );
    const young = randomUUID();
    await sessions.open(young, NEW);
    await createConsoleSessions(redis, { idleMs: 60_000, absoluteMs: 5_000 }).use(young);
    expect(await redis.commands.pttl(consoleSessionKey(young))).toBeLessThanOrEqual(5_000);
  });

  test("a session is in the list of its user, also if the list is read while the session is opened", async () => {
    const [hash, userId] = [randomUUID(), randomUUID()];
    const call: RedisConnection["call"] = async (...given) => {
      await sessions.list(userId);
      const reply = await redis.call(...given);
      await sessions.list(userId);
      return reply;
    };
    await createConsoleSessions({ ...redis, call }).open(hash, { ...NEW, userId });
    expect(await sessions.list(userId)).toMatchObject([{ sessionHash: hash }]);
  });

  test("only open sessions count for the limit of sessions of a user; above the limit, the oldest one ends", async () => {
    const user = { ...NEW, userId: randomUUID() };
    const open = async (version: number = user.version): Promise<string> => {
      const hash = randomUUID();
      await sessions.open(hash, { ...user, version });
      return hash;
    };
    const isOpen = async (hash: string): Promise<boolean> => (await sessions.exist([hash]))[0] === true;
    const oldest = await open();
    // A higher version has ended this session, without a call of `close`.
    await open(user.version - 1);
    for (let closed = 0; closed < MAX_SESSIONS_PER_USER; closed += 1) await sessions.close(await open());
    expect(await isOpen(oldest)).toBe(true);
    const second = await open();
    for (let opened = 2; opened < MAX_SESSIONS_PER_USER; opened += 1) await open();
    expect(await isOpen(oldest)).toBe(true);
    await open();
    expect([await isOpen(oldest), await isOpen(second)]).toEqual([false, true]);
    expect(await sessions.list(user.userId)).toHaveLength(MAX_SESSIONS_PER_USER);
  });

  test("after five failures an attempt must wait until 1, 2, 4 … 60 seconds after the last failure; an attempt that must wait is not counted", async () => {
    const subject = newSubject();
    for (let failure = 0; failure < FREE_FAILURES_PER_EMAIL; failure += 1)
      expect(await attempts.begin(subject)).toBe(0);
    for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
      // Moves the failure into the future: otherwise the wait could be over on a slow machine.
      await passTime(subject, -AHEAD_MS);
      const end = Number(await redis.commands.hget(signInEmailKey(subject.emailHash), "at")) + seconds * 1_000;
      const before = await redisTime();
      const wait = await attempts.begin(subject);
      expect(wait).toBeLessThanOrEqual(end - before);
      expect(wait).toBeGreaterThanOrEqual(end - (await redisTime()));
      await passTime(subject, AHEAD_MS + seconds * 1_000);
      expect(await attempts.begin({ ...subject, network: randomUUID() })).toBe(0);
    }
    expect(await redis.commands.pttl(signInEmailKey(subject.emailHash))).toBeGreaterThan(SIGN_IN_WINDOW_MS - 60_000);
  });

  test("of 50 concurrent attempts only five pass: each attempt is counted before the next one is decided", async () => {
    const subject = newSubject();
    const waits = await Promise.all(Array.from({ length: 50 }, () => attempts.begin(subject)));
    expect(waits.filter((wait) => wait === 0)).toHaveLength(FREE_FAILURES_PER_EMAIL);
  });

  test("a success clears the e-mail address's count and takes its own attempt off the network's count; an undecided attempt is taken off both", async () => {
    const network = randomUUID();
    for (let failure = 0; failure < FREE_FAILURES_PER_ADDRESS - 1; failure += 1) {
      await attempts.begin(newSubject({ network }));
    }
    const good = newSubject({ network });
    expect(await attempts.begin(good)).toBe(0);
    await attempts.takeBack(good, "succeeded");
    expect(await redis.commands.exists(signInEmailKey(good.emailHash))).toBe(0);
    expect(await redis.commands.hget(signInAddressKey(network), "failures")).toBe(
      String(FREE_FAILURES_PER_ADDRESS - 1),
    );
    const undecided = newSubject({ network });
    await attempts.begin(undecided);
    await attempts.begin({ ...undecided, network: randomUUID() });
    await attempts.takeBack(undecided, "undecided");
    expect(await redis.commands.hget(signInEmailKey(undecided.emailHash), "failures")).toBe("1");
    await attempts.begin(newSubject({ network }));
    expect(await attempts.begin(newSubject({ network }))).toBeGreaterThan(0);
  });

  test("failures from other networks do not block a network from which the user has signed in; a success there does not clear these failures", async () => {
    const home = newSubject();
    await attempts.begin(home);
    await attempts.takeBack(home, "succeeded");
    const elsewhere = { ...home, network: randomUUID() };
    for (let failure = 0; failure < FREE_FAILURES_PER_EMAIL; failure += 1) await attempts.begin(elsewhere);
    expect(await attempts.begin(elsewhere)).toBeGreaterThan(0);
    expect(await attempts.begin(home)).toBe(0);
    await attempts.takeBack(home, "succeeded");
    await passTime(home, -AHEAD_MS);
    expect(await attempts.begin(elsewhere)).toBeGreaterThan(0);
    for (let failure = 0; failure < FREE_FAILURES_PER_EMAIL; failure += 1) {
      expect(await attempts.begin(home)).toBe(0);
    }
    expect(await attempts.begin(home)).toBeGreaterThan(0);
  });

  test("the count of recovery mails expires, even if its key had no lifetime; a further request does not extend the lifetime", async () => {
    const [emailHash, network] = [randomUUID(), randomUUID()];
    const limits = createRecoveryLimits(redis);
    await redis.commands.set(recoveryEmailKey(emailHash), MAX_MAILS_PER_EMAIL);
    expect(await limits.count(emailHash, network)).toEqual({ waitMs: 0, isSilent: true });
    for (const key of [recoveryEmailKey(emailHash), recoveryAddressKey(network)]) {
      const leftMs = await redis.commands.pttl(key);
      expect(leftMs).toBeGreaterThan(RECOVERY_WINDOW_MS - 60_000);
      await limits.count(emailHash, network);
      expect(await redis.commands.pttl(key)).toBeLessThanOrEqual(leftMs);
    }
  });
});
