/**
 * The fences. A row per partition holds a token that rises with every take; only the process whose token stands there,
 * unexpired, may change commands of the partition. Kafka's group decides who takes: the new holder does not wait for
 * the old lease, it ends it.
 */
import type { TopicContract } from "@kapi/contracts";
import { assertDefined } from "@kapi/kernel";
import type { Queryable } from "@kapi/postgres";

import { LEASE_MS } from "./limits.ts";
import { CHECK_LEASES, RENEW_LEASES, TAKE_LEASES } from "./statements.ts";

/** A fence that this process took. */
export interface Lease {
  readonly partition: number;
  readonly token: number;
}

export class LeaseBook {
  readonly #topic: TopicContract;
  readonly #holder: string;

  constructor(topic: TopicContract, holder: string) {
    this.#topic = topic;
    this.#holder = holder;
  }

  /** Takes the partition, whoever had it. */
  async take(database: Queryable, partition: number): Promise<Lease> {
    const rows = await database.query(TAKE_LEASES, [this.#topic.name, [partition], this.#holder, LEASE_MS]);
    return assertDefined(rows[0], "the lease just taken");
  }

  /** Prolongs what is still held; returns the partitions for which that is so. */
  async renew(database: Queryable, leases: readonly Lease[]): Promise<ReadonlySet<number>> {
    if (leases.length === 0) return new Set();
    const rows = await database.query(RENEW_LEASES, [...this.#columns(leases), LEASE_MS]);
    return new Set(rows.map(({ partition }) => partition));
  }

  /** Of `leases` those in force, kept from being taken until the transaction ends. */
  async check(transaction: Queryable, leases: readonly Lease[]): Promise<ReadonlySet<number>> {
    const rows = await transaction.query(CHECK_LEASES, this.#columns(leases));
    return new Set(rows.map(({ partition }) => partition));
  }

  #columns(leases: readonly Lease[]): [string, number[], number[]] {
    return [this.#topic.name, leases.map(({ partition }) => partition), leases.map(({ token }) => token)];
  }
}
