import { hash, type Options, verify } from "@node-rs/argon2";
import { randomBytes } from "node:crypto";

import { type Passwords, PasswordsBusy } from "../domain/ports.ts";

/** Memory of one hash (KiB), and passes over it: the minimum that OWASP recommends for argon2id. */
const MEMORY_KIB = 19 * 1_024;
const PASSES = 2;
const PARALLELISM = 1;
/**
 * Maximum number of concurrent hashes: each occupies a core and a thread of libuv's pool, which
 * also reads files and looks up host names.
 */
const MAX_RUNNING = 2;
/**
 * Maximum number of waiting hashes; each takes about 30 ms. Further requests are rejected, so that
 * no request waits much longer than a second.
 */
const MAX_WAITING = 60;
const DUMMY_PASSWORD_BYTES = 16;

// The package uses argon2id by default.
const OPTIONS: Options = {
  memoryCost: MEMORY_KIB,
  timeCost: PASSES,
  parallelism: PARALLELISM,
};

/** Hashes with argon2id, {@link MAX_RUNNING} at a time; at most `maxWaiting` more wait. */
export async function createPasswords(maxWaiting: number = MAX_WAITING): Promise<Passwords> {
  // The hash for unknown users: their check takes as long as a check of known users.
  const dummyHash = await hash(randomBytes(DUMMY_PASSWORD_BYTES), OPTIONS);
  const turns = new Turns(maxWaiting);
  return {
    hash: (password) => turns.take(() => hash(password, OPTIONS)),
    matches: (password, passwordHash) =>
      turns.take(async () => (await verify(passwordHash ?? dummyHash, password)) && passwordHash !== null),
  };
}

/** Runs {@link MAX_RUNNING} calls at a time; further calls wait in order. */
class Turns {
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= MAX_RUNNING) await this.#wait();
    else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #wait(): Promise<void> {
    if (this.#waiting.length >= this.#maxWaiting) throw new PasswordsBusy("too many passwords wait to be hashed");
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
