/**
 * The commands and the outbox of one service in its own schema. A unit of work is one transaction:
 * effects, states of commands and what is to be published are written together; the process that
 * committed publishes at once.
 */
import { type Clock, delay } from "@kapi/kernel";
import type { Producer } from "@kapi/kafka";
import { ROW_PER_TRANSACTION, startOutbox } from "@kapi/outbox";
import { type Database, isTransient } from "@kapi/postgres";
import { faultPoint, type Logger, type Started } from "@kapi/runtime";

import { TRANSACTION_PAUSES_MS } from "./limits.ts";
import { measureEnd, measureOutbox } from "./measures.ts";
import { type MessageLookup, Unit } from "./unit.ts";

export interface CommandStoreOptions {
  /** Name of the service; part of the fault points' names. */
  readonly worker: string;
  readonly database: Database;
  readonly producer: Producer;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What a store wants from the worker of its commands. */
export interface AttachedWorker {
  /** The message of a command that is in memory. */
  readonly messageOf: MessageLookup;
  /** Commands were made final by whatever path of this process; told after the commit. */
  readonly onFinal: (commandIds: readonly string[]) => void;
}

/** What {@link createCommandStore} gives. */
export interface CommandStore {
  readonly database: Database;
  /**
   * Runs `work` in one transaction, and again where the database says that only the moment was bad
   * (deadlock, connection lost, a command moved on by somebody else), so `work` must find by itself
   * what an unanswered commit may have done. Resolves after the commit; publishing goes on behind
   * it.
   */
  transact<T>(work: (transaction: Unit) => Promise<T>): Promise<T>;
  /** For the worker that runs the commands of this store. */
  attach(worker: AttachedWorker): void;
}

/** Starts the outbox of the service's schema. `stop` publishes and deletes what is under way. */
export function createCommandStore(options: CommandStoreOptions): Started<CommandStore> {
  const { database, worker, producer, clock, logger } = options;
  const outbox = startOutbox({ service: worker, database, rows: ROW_PER_TRANSACTION, producer, logger });
  const endMeasures = measureOutbox(worker, database);
  let attached: AttachedWorker = { messageOf: () => undefined, onFinal: () => undefined };

  const once = async <T>(work: (transaction: Unit) => Promise<T>) =>
    database.transaction(async (transaction) => {
      const unit = new Unit(transaction, clock, attached.messageOf);
      const value = await work(unit);
      if (unit.finalIds.length > 0) faultPoint(`${worker}.in-transaction`);
      // Not waited for: the commit goes out right behind it, and tells of its failure.
      const written = unit.write();
      written.catch(() => undefined);
      return { value, unit, written };
    });
  const transact = async <T>(work: (transaction: Unit) => Promise<T>): Promise<T> => {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const { value, unit, written } = await once(work);
        const outboxId = await written;
        const endsCommands = unit.finalIds.length > 0;
        if (endsCommands) faultPoint(`${worker}.after-commit`);
        if (outboxId !== null) {
          const published = outbox.value.publish([outboxId], unit.messages);
          if (endsCommands) void published.then((done) => done && faultPoint(`${worker}.after-publish`));
        }
        if (endsCommands) attached.onFinal(unit.finalIds);
        for (const { message, status } of unit.ends()) measureEnd(worker, message, status, clock);
        return value;
      } catch (error) {
        const pauseMs = TRANSACTION_PAUSES_MS[attempt];
        if (pauseMs === undefined || !isTransient(error)) throw error;
        logger.warn({ err: error, attempt: attempt + 1 }, "a unit of work is tried again");
        if (pauseMs > 0) await delay(pauseMs);
      }
    }
  };
  return {
    value: {
      database,
      transact,
      attach: (attachedNow) => {
        attached = attachedNow;
      },
    },
    stop: () => {
      endMeasures();
      return outbox.stop();
    },
  };
}
