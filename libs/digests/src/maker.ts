/**
 * Makes the digests of days that are over, revises them after late records, and deletes old ones.
 * Every process of a service does this. The lock of a server's row lets one process at a time make
 * or revise the digests of a server. Each batch that makes or revises digests is one transaction,
 * so a killed process loses one batch at most. Each process deletes old digests, without the lock.
 */
import { DIGEST_RETENTION_DAYS } from "@kapi/contracts";
import type { KafkaConnection } from "@kapi/kafka";
import { type Clock, repeat, type Repetition } from "@kapi/kernel";
import type { Database, Transaction } from "@kapi/postgres";
import { faultPoint, type Logger, observed, type Started } from "@kapi/runtime";

import { DayCompleteness } from "./completeness.ts";
import { addDays, daysBetween, utcDay } from "./day.ts";
import {
  dropLateRecords,
  findServers,
  nextDay,
  saveFirstDay,
  saveProgress,
  type ServerProgress,
  takeLateRecords,
  tryLockServer,
} from "./progress.ts";

/** Pause between two rounds. A round looks for days that are over, and for late records. */
const ROUND_PAUSE_MS = 2_000;
/**
 * Maximum number of accounts that one transaction revises. An account has at most 400 digests, one
 * for each day.
 */
const MAX_LATE_ACCOUNTS = 20;
/** Maximum number of batches that revise a server before other servers and days have their turn. */
const MAX_REVISION_BATCHES = 10;
/** Maximum number of rows of `late_records` that one transaction deletes. */
const MAX_DROPPED_RECORDS = 20_000;

/** The digests of one service: those of transactions, or those of deals. */
export interface DigestTable {
  /**
   * Makes the digests of `day` for the next accounts of the server after `afterAccount`, in order
   * of account number. Returns the last of these accounts; null if none were left.
   */
  makeNext(tx: Transaction, serverId: string, day: string, afterAccount: string): Promise<string | null>;
  /**
   * Computes the digests of an account again, from `fromDay` to the last day that is made. If the
   * account already has a digest of the next day, this digest is also computed again. A digest that
   * is different gets a new revision.
   */
  revise(tx: Transaction, progress: ServerProgress, accountNumber: string, fromDay: string): Promise<void>;
  /** Deletes some digests of days before `firstDay`; false if none were left. */
  deleteBefore(serverId: string, firstDay: string): Promise<boolean>;
}

/** Set once by each service that has digests: finance for transactions, account for deals. */
interface DigestMakerOptions {
  /** Name of the service, for its metric and its fault points. */
  readonly service: string;
  readonly database: Database;
  readonly table: DigestTable;
  /** The servers that get digests. */
  readonly serverIds: () => readonly string[];
  readonly kafka: KafkaConnection;
  /** The consumer group with which the service books trading events. */
  readonly groupId: string;
  /** Time after the end of a day until which its records may still be published. */
  readonly graceMs: number;
  /** The database's time. */
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Starts to make digests, in rounds. `stop` waits for the running batch. */
export function startDigestMaker(options: DigestMakerOptions): Started<Repetition> {
  const maker = new Maker(options);
  const endCount = observed(
    "digests.days.waiting",
    "Days that ended more than `DIGEST_GRACE_MS` ago and whose digests are not all made, for the server that is furthest behind, by `service`",
    "{day}",
    () => [{ value: maker.waitingDays, attributes: { service: options.service } }],
  );
  const rounds = repeat({
    name: "daily digests",
    round: (signal) => maker.round(signal),
    pauseMs: ROUND_PAUSE_MS,
    logger: options.logger,
  });
  return {
    value: rounds.value,
    stop: () => {
      endCount();
      return rounds.stop();
    },
  };
}

class Maker {
  readonly #options: DigestMakerOptions;
  readonly #completeness: DayCompleteness;
  /** By server: the first day that is kept, once all earlier digests are deleted. */
  readonly #expired = new Map<string, string>();
  /** Days past the grace time whose digests are not all made, for the server furthest behind. */
  waitingDays = 0;

  constructor(options: DigestMakerOptions) {
    this.#options = options;
    this.#completeness = new DayCompleteness(options.kafka, options.groupId);
  }

  /** One failing server does not stop the others: its error is thrown after them. */
  async round(signal: AbortSignal): Promise<void> {
    const { clock, database, graceMs, serverIds } = this.#options;
    const lastDay = addDays(utcDay(clock.nowMs() - graceMs), -1);
    const ids = serverIds();
    const states = new Map((await findServers(database, ids)).map((state) => [state.serverId, state]));
    this.waitingDays = Math.max(0, ...Array.from(states.values(), (state) => daysAfter(state.madeThrough, lastDay)));
    const isWaiting = (serverId: string): boolean => (states.get(serverId)?.madeThrough ?? "") < lastDay;
    const failures: unknown[] = [];
    const isComplete = async (): Promise<boolean> => {
      try {
        return await this.#completeness.has(lastDay);
      } catch (error) {
        failures.push(error);
        return false;
      }
    };
    const mayMake = ids.some(isWaiting) && (await isComplete());
    const forEach = async (servers: readonly string[], work: (serverId: string) => Promise<void>): Promise<void> => {
      for (const serverId of servers) await work(serverId).catch((error: unknown) => failures.push(error));
    };
    // New digests come first: late records may be many.
    await forEach(mayMake ? ids.filter(isWaiting) : [], (id) => this.#make(id, lastDay, signal));
    const late = ids.filter((id) => states.get(id)?.hasLateRecords === true);
    await forEach(late, (id) => this.#revise(id, lastDay, signal));
    await forEach(ids, (id) => this.#expire(id, addDays(lastDay, 1 - DIGEST_RETENTION_DAYS), signal));
    if (failures.length > 0) throw failures[0];
  }

  /** Makes the days that are over, oldest first, in batches of accounts. */
  async #make(serverId: string, lastDay: string, signal: AbortSignal): Promise<void> {
    const { service, table } = this.#options;
    await this.#whileLeft(serverId, lastDay, signal, async (tx, progress) => {
      if (progress.madeThrough >= lastDay) return false;
      const day = nextDay(progress);
      const { afterAccount } = progress;
      const dropped = await dropLateRecords(tx, { serverId, day, afterAccount, limit: MAX_DROPPED_RECORDS });
      if (dropped === MAX_DROPPED_RECORDS) return true;
      const last = await table.makeNext(tx, serverId, day, progress.afterAccount);
      if (last === null) saveProgress(tx, serverId, day, "");
      else saveProgress(tx, serverId, progress.madeThrough, last);
      faultPoint(`${service}.digests-in-transaction`);
      return true;
    });
  }

  async #revise(serverId: string, lastDay: string, signal: AbortSignal): Promise<void> {
    const { service, table } = this.#options;
    let batches = 0;
    await this.#whileLeft(serverId, lastDay, signal, async (tx, progress) => {
      const late = await takeLateRecords(tx, serverId, progress.madeThrough, MAX_LATE_ACCOUNTS);
      for (const [accountNumber, day] of late) {
        const { firstDay } = progress;
        await table.revise(tx, progress, accountNumber, day < firstDay ? firstDay : day);
      }
      if (late.size > 0) faultPoint(`${service}.digests-revised`);
      batches += 1;
      return late.size > 0 && batches < MAX_REVISION_BATCHES;
    });
  }

  /** Deletes digests of days before `firstDay`, once for each day and process. */
  async #expire(serverId: string, firstDay: string, signal: AbortSignal): Promise<void> {
    if (this.#expired.get(serverId) === firstDay) return;
    const { database, table } = this.#options;
    // First the days are hidden, then their digests are deleted: no day is shown in part.
    await database.transaction((tx) => saveFirstDay(tx, serverId, firstDay));
    let isLeft = true;
    while (isLeft && !signal.aborted) isLeft = await table.deleteBefore(serverId, firstDay);
    if (!isLeft) this.#expired.set(serverId, firstDay);
  }

  /**
   * Runs batches, each in a transaction with the server's lock, until none is left or another
   * process has the lock. `firstDay` is the first day of a server that has no digests yet.
   */
  async #whileLeft(
    serverId: string,
    firstDay: string,
    signal: AbortSignal,
    batch: (tx: Transaction, progress: ServerProgress) => Promise<boolean>,
  ): Promise<void> {
    const { database } = this.#options;
    let isLeft = true;
    while (isLeft && !signal.aborted) {
      isLeft = await database.transaction(async (tx) => {
        const progress = await tryLockServer(tx, serverId, firstDay);
        return progress !== null && (await batch(tx, progress));
      });
    }
  }
}

/** The number of days after `day`, through `lastDay`; 0 if `day` is not before it. */
function daysAfter(day: string, lastDay: string): number {
  return Math.max(0, daysBetween(day, lastDay).length - 1);
}
