import { readFileSync } from "node:fs";

import type { RedisConnection } from "./connection.ts";
import { consoleSessionKey, signInAddressKey, signInBothKey, signInEmailKey, signInKnownKey } from "./keys.ts";
import { arrayReply, numberReply, textReply } from "./replies.ts";

/** The function library behind the calls of this file, which a connection that makes them is given. */
export const CONSOLE_LIBRARY = readFileSync(new URL("console.lua", import.meta.url), "utf8");

/** A session nobody used for so long ends. */
export const SESSION_IDLE_MS = 12 * 3_600_000;
/** No session lives longer, however much it is used. */
export const SESSION_ABSOLUTE_MS = 7 * 24 * 3_600_000;

/** Failures are forgotten so long after the last one. */
export const SIGN_IN_WINDOW_MS = 15 * 60_000;
/** Failures for one e-mail address before the next attempt has to wait. */
export const FREE_FAILURES_PER_EMAIL = 5;
/** The same for one network address, behind which there may be a whole office. */
export const FREE_FAILURES_PER_ADDRESS = 20;
/** The first wait; each failure more doubles it. */
export const FIRST_SIGN_IN_WAIT_MS = 1_000;
export const MAX_SIGN_IN_WAIT_MS = 60_000;
/** How long a network is known from which somebody has signed in. */
export const KNOWN_NETWORK_MS = 90 * 24 * 3_600_000;

/** A console session as Redis keeps it, under the hash of its id. */
export interface ConsoleSessionState {
  readonly userId: string;
  /** The version of the user's sessions that it was opened under; another one means that it is over. */
  readonly version: number;
  readonly csrfToken: string;
  readonly createdAtMs: number;
}

/** How long sessions live; other values in tests only. */
export interface SessionLife {
  readonly idleMs: number;
  readonly absoluteMs: number;
}

const SESSION_LIFE: SessionLife = { idleMs: SESSION_IDLE_MS, absoluteMs: SESSION_ABSOLUTE_MS };

/** Keeps a new session. `sessionHash` is the SHA-256 of its id in hex: the id itself is nowhere but in its cookie. */
export async function openConsoleSession(
  redis: RedisConnection,
  sessionHash: string,
  session: Omit<ConsoleSessionState, "createdAtMs">,
  life: SessionLife = SESSION_LIFE,
): Promise<void> {
  const args = [session.userId, session.version, session.csrfToken, life.idleMs];
  await redis.call("kapi_console_open_session", [consoleSessionKey(sessionHash)], args);
}

/** The session under a hash, which lives on from now; null where there is none (any more). */
export async function useConsoleSession(
  redis: RedisConnection,
  sessionHash: string,
  life: SessionLife = SESSION_LIFE,
): Promise<ConsoleSessionState | null> {
  const reply = await redis.call(
    "kapi_console_use_session",
    [consoleSessionKey(sessionHash)],
    [life.idleMs, life.absoluteMs],
  );
  if (reply === null) return null;
  const [userId, version, csrfToken, created] = arrayReply(reply);
  return {
    userId: textReply(userId) ?? "",
    version: numberReply(version),
    csrfToken: textReply(csrfToken) ?? "",
    createdAtMs: numberReply(created),
  };
}

/** Whether each session is still there, in order, without keeping it alive; also where its node of a cluster does not answer. */
export function consoleSessionsExist(redis: RedisConnection, sessionHashes: readonly string[]): Promise<boolean[]> {
  return Promise.all(
    sessionHashes.map((sessionHash) =>
      redis.commands.exists(consoleSessionKey(sessionHash)).then(
        (count) => count === 1,
        () => true,
      ),
    ),
  );
}

/** Ends a session. */
export async function closeConsoleSession(redis: RedisConnection, sessionHash: string): Promise<void> {
  await redis.commands.del(consoleSessionKey(sessionHash));
}

/** Who tries to sign in: both parts are counted. */
export interface SignInSubject {
  /** SHA-256 of the e-mail address in lower case, in hex. */
  readonly emailHash: string;
  /** Network address; of IPv6 the part that names the network. */
  readonly address: string;
}

/**
 * Counts an attempt to sign in, as a failure until it is taken back, or tells how many milliseconds it has to wait: after
 * {@link FREE_FAILURES_PER_EMAIL} or {@link FREE_FAILURES_PER_ADDRESS} failures, from the last one 1, 2, 4 … 60 s. An attempt
 * that has to wait is not counted. From a network from which somebody has signed in under the e-mail address its failures count
 * apart: whoever fails elsewhere, and on purpose, keeps nobody out.
 */
export async function beginSignIn(redis: RedisConnection, subject: SignInSubject): Promise<number> {
  const reply = await redis.call("kapi_console_begin_sign_in", keysOf(subject), [
    SIGN_IN_WINDOW_MS,
    FIRST_SIGN_IN_WAIT_MS,
    MAX_SIGN_IN_WAIT_MS,
    FREE_FAILURES_PER_EMAIL,
    FREE_FAILURES_PER_ADDRESS,
  ]);
  return numberReply(reply);
}

/**
 * Takes an attempt back. `succeeded`: the e-mail address begins anew, the network address has this one less (whoever has one
 * good password must not clear what they failed with others). `undecided`: nobody said whether the password was right.
 */
export async function takeBackSignIn(
  redis: RedisConnection,
  subject: SignInSubject,
  outcome: "succeeded" | "undecided",
): Promise<void> {
  await redis.call("kapi_console_take_back_sign_in", keysOf(subject), [outcome, KNOWN_NETWORK_MS]);
}

function keysOf({ emailHash, address }: SignInSubject): string[] {
  const both = [signInBothKey(emailHash, address), signInKnownKey(emailHash, address)];
  return [signInEmailKey(emailHash), signInAddressKey(address), ...both];
}
