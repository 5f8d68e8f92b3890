import { hash } from "node:crypto";

import type { Violations } from "./violations.ts";

interface Entry {
  readonly digest: string;
  readonly witness: string;
}

/**
 * The bytes of every (account, sequence), as seen by any client or the log. They must always be
 * equal.
 */
export class SampleLedger {
  readonly #violations: Violations;
  readonly #accounts = new Map<string, Entry[]>();

  constructor(violations: Violations) {
    this.#violations = violations;
  }

  /** `witness` saw these bytes as the account's sample `sequence`. */
  saw(accountNumber: string, sequence: number, bytes: Buffer, witness: string): void {
    const digest = hash("sha1", bytes, "base64");
    const entries = this.#accounts.get(accountNumber) ?? [];
    this.#accounts.set(accountNumber, entries);
    const known = entries[sequence];
    if (known === undefined) entries[sequence] = { digest, witness };
    else if (known.digest !== digest) {
      this.#violations.add(
        `${accountNumber}: sample ${sequence} had other bytes for ${witness} than for ${known.witness}: ${bytes.toString()}`,
      );
    }
  }

  /** The highest seen sequence of an account. */
  highest(accountNumber: string): number {
    return Math.max(0, (this.#accounts.get(accountNumber)?.length ?? 0) - 1);
  }
}
