import { type RedisConnection, numberReply } from "@kapi/redis";

import type { SignInAttempts, SignInSubject } from "../../domain/ports.ts";

/** Time after the last failure at which failures are forgotten. */
export const SIGN_IN_WINDOW_MS = 15 * 60_000;
/** Number of failures under one e-mail address without a wait. */
export const FREE_FAILURES_PER_EMAIL = 5;
/** Number of failures from one network address without a wait: a whole office may share it. */
export const FREE_FAILURES_PER_ADDRESS = 20;
/** The first wait; each further failure doubles it. */
export const FIRST_SIGN_IN_WAIT_MS = 1_000;
/** Maximum wait between two attempts after many failures. */
export const MAX_SIGN_IN_WAIT_MS = 60_000;
/** Time for which a network is known after a sign-in from it. */
export const KNOWN_NETWORK_MS = 90 * 24 * 3_600_000;

/**
 * Hash: failures to sign in under an e-mail address. One call uses several keys: the hash tag
 * `{sign-in}` puts them into one slot.
 */
export const signInEmailKey = (emailHash: string): string => `{sign-in}:email:${emailHash}`;
/** Hash: failures to sign in from a network address. */
export const signInAddressKey = (address: string): string => `{sign-in}:address:${address}`;
/** Hash: failures under an e-mail address from a network with an earlier sign-in. */
export const signInBothKey = (emailHash: string, address: string): string => `{sign-in}:both:${emailHash}:${address}`;
/** Marker: somebody has signed in under the e-mail address from this network. */
export const signInKnownKey = (emailHash: string, address: string): string => `{sign-in}:known:${emailHash}:${address}`;

/**
 * Counts attempts in Redis. The connection needs the function library of the console. After {@link
 * FREE_FAILURES_PER_EMAIL} or {@link FREE_FAILURES_PER_ADDRESS} failures an attempt is rejected
 * until 1, 2, 4 … 60 s after the last failure. Failures from a network of an earlier successful
 * sign-in count separately: failures from other networks do not lock the user out.
 */
export function createSignInAttempts(redis: RedisConnection): SignInAttempts {
  return {
    begin: async (subject) => {
      const reply = await redis.call("kapi_console_begin_sign_in", keysOf(subject), [
        SIGN_IN_WINDOW_MS,
        FIRST_SIGN_IN_WAIT_MS,
        MAX_SIGN_IN_WAIT_MS,
        FREE_FAILURES_PER_EMAIL,
        FREE_FAILURES_PER_ADDRESS,
      ]);
      return numberReply(reply);
    },
    takeBack: async (subject, outcome) => {
      await redis.call("kapi_console_take_back_sign_in", keysOf(subject), [outcome, KNOWN_NETWORK_MS]);
    },
  };
}

function keysOf({ emailHash, network }: SignInSubject): string[] {
  const both = [signInBothKey(emailHash, network), signInKnownKey(emailHash, network)];
  return [signInEmailKey(emailHash), signInAddressKey(network), ...both];
}
