import { hash } from "node:crypto";

import type { Violations } from "./violations.ts";

interface Entry {
  readonly digest: string;
  readonly witness: string;
}

/**
 * Compares the bytes of every sample. All clients and the log must have equal bytes for an account
 * and sequence.
 */
export class SampleLedger {
  readonly #violations: Violations;
  readonly #accounts = new Map<string, Entry[]>();

  constructor(violations: Violations) {
    this.#violations = violations;
  }

  /** Records the bytes that `witness` received as the account's sample `sequence`. */
  record(accountNumber: string, sequence: number, bytes: Buffer, witness: string): void {
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

  /** The highest recorded sequence of an account. */
  highest(accountNumber: string): number {
    return Math.max(0, (this.#accounts.get(accountNumber)?.length ?? 0) - 1);
  }
}
