/**
 * The leases of partitions, in `partition_lease`. Each acquisition raises the partition's fencing
 * token. Only the process with the current token, unexpired, may change the state of the
 * partition's commands. Two transactions make a command final without the lease: the booking of its
 * event, and the activation of its risk rules (decisions, 3.1). The consumer group decides who
 * acquires: the new holder replaces the old lease at once.
 */
import type { TopicContract } from "@kapi/contracts";
import type { Queryable } from "@kapi/postgres";

import { LEASE_MS } from "./limits.ts";
import { CHECK_LEASES, RENEW_LEASES, ACQUIRE_LEASE } from "./statements.ts";

/** A lease that this process acquired, with its fencing token. */
export interface Lease {
  readonly partition: number;
  readonly token: number;
}

/** Acquires, renews and checks the leases of one topic for one process. */
export class PartitionLeases {
  readonly #topic: TopicContract;
  readonly #holder: string;

  constructor(topic: TopicContract, holder: string) {
    this.#topic = topic;
    this.#holder = holder;
  }

  /**
   * Acquires the partition's lease from any holder of the same or an earlier generation of the
   * group. Returns null if a member of a later generation holds it. Every generation may acquire an
   * expired lease, because generations restart at 1 when Kafka deletes the group.
   */
  async acquire(database: Queryable, partition: number, generation: number): Promise<Lease | null> {
    const [lease = null] = await database.query(ACQUIRE_LEASE, [
      this.#topic.name,
      partition,
      this.#holder,
      LEASE_MS,
      generation,
    ]);
    return lease;
  }

  /**
   * Renews the leases whose token is still current, even if they have expired; returns their
   * partitions.
   */
  async renew(database: Queryable, leases: readonly Lease[]): Promise<ReadonlySet<number>> {
    if (leases.length === 0) return new Set();
    const rows = await database.query(RENEW_LEASES, [...this.#columns(leases), LEASE_MS]);
    return new Set(rows.map(({ partition }) => partition));
  }

  /**
   * Returns the partitions of `leases` whose token is current and unexpired, and locks these leases
   * until the transaction ends.
   */
  async lockHeld(transaction: Queryable, leases: readonly Lease[]): Promise<ReadonlySet<number>> {
    const rows = await transaction.query(CHECK_LEASES, this.#columns(leases));
    return new Set(rows.map(({ partition }) => partition));
  }

  #columns(leases: readonly Lease[]): [string, number[], number[]] {
    return [this.#topic.name, leases.map(({ partition }) => partition), leases.map(({ token }) => token)];
  }
}
