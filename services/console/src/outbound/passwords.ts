import { hash, type Options, verify } from "@node-rs/argon2";
import { randomBytes } from "node:crypto";

import { type Passwords, PasswordsBusy } from "../domain/ports.ts";

/** Memory of one hash, in KiB, and passes over it: what OWASP asks of argon2id at least. */
const MEMORY_KIB = 19 * 1_024;
const PASSES = 2;
const LANES = 1;
/**
 * Hashes at once: each holds a thread of the pool that files and name look-ups use too, and a core.
 */
const MAX_RUNNING = 2;
/**
 * Hashes that wait, some 30 ms each; one more is refused, rather than answered after its caller has
 * left.
 */
const MAX_WAITING = 60;
const DUMMY_PASSWORD_BYTES = 16;

// Argon2id is what the package makes unless told.
const OPTIONS: Options = {
  memoryCost: MEMORY_KIB,
  timeCost: PASSES,
  parallelism: LANES,
};

/** Argon2id, {@link MAX_RUNNING} at a time; `maxWaiting` more wait for their turn. */
export async function createPasswords(maxWaiting: number = MAX_WAITING): Promise<Passwords> {
  // What a password is compared with that belongs to nobody, so that it takes as long.
  const nobodys = await hash(randomBytes(DUMMY_PASSWORD_BYTES), OPTIONS);
  const turns = new Turns(maxWaiting);
  return {
    hash: (password) => turns.take(() => hash(password, OPTIONS)),
    matches: (password, passwordHash) =>
      turns.take(async () => (await verify(passwordHash ?? nobodys, password)) && passwordHash !== null),
  };
}

/** Lets so many run at once; the others wait in order. */
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
