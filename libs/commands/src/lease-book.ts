/**
 * The fences. A row per partition holds a token that rises with every take; only the process whose
 * token stands there, unexpired, may change commands of the partition. Kafka's group decides who
 * takes: the new holder does not wait for the old lease, it ends it.
 */
import type { TopicContract } from "@kapi/contracts";
import type { Queryable } from "@kapi/postgres";

import { LEASE_MS } from "./limits.ts";
import { CHECK_LEASES, RENEW_LEASES, TAKE_LEASE } from "./statements.ts";

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

  /**
   * Takes the partition's fence from any holder of the same or an earlier generation of the group.
   * Returns null if a member of a later generation has it. An expired fence is free for every
   * generation, because the numbers restart at 1 when Kafka deletes the group.
   */
  async take(database: Queryable, partition: number, generation: number): Promise<Lease | null> {
    const [lease = null] = await database.query(TAKE_LEASE, [
      this.#topic.name,
      partition,
      this.#holder,
      LEASE_MS,
      generation,
    ]);
    return lease;
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
