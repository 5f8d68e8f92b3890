/**
 * The commands and the outbox of one service, in its own schema. A unit of work is one transaction:
 * it writes effects, states of commands and messages together. The process that commits publishes
 * at once.
 */
import { type Clock, delay } from "@kapi/kernel";
import type { Producer } from "@kapi/kafka";
import { ROW_PER_TRANSACTION, startOutbox } from "@kapi/outbox";
import { type Database, isTransient } from "@kapi/postgres";
import { faultPoint, type Logger, type Started } from "@kapi/runtime";

import { TRANSACTION_PAUSES_MS } from "./limits.ts";
import { measureFinalState, measureOutbox } from "./measures.ts";
import { type MessageLookup, Unit } from "./unit.ts";

/** Set once by each service with commands. `database` has the tables of commands and the outbox. */
export interface CommandStoreOptions {
  /** Name of the service; prefix of the fault points. */
  readonly worker: string;
  readonly database: Database;
  readonly producer: Producer;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The worker that runs the commands of a store. */
export interface AttachedWorker {
  /** The message of a command that is in memory. */
  readonly messageOf: MessageLookup;
  /** Called after a commit in which this process made commands final, also outside the worker. */
  readonly onFinal: (commandIds: readonly string[]) => void;
}

/** The commands and the outbox of one service; see {@link startCommandStore}. */
export interface CommandStore {
  readonly database: Database;
  readonly producer: Producer;
  /**
   * Runs `work` in one transaction. After a transient error (deadlock, lost connection, a command
   * changed by another transaction) `work` runs again, at most three times. So `work` must tolerate
   * that an earlier run was committed and the reply to its commit lost. Resolves after the commit;
   * publishing continues in the background.
   */
  transact<T>(work: (transaction: Unit) => Promise<T>): Promise<T>;
  /** Connects the worker that runs the commands of this store. */
  attach(worker: AttachedWorker): void;
}

/**
 * Starts the outbox of the service's schema. `stop` waits for messages that are being published.
 */
export function startCommandStore(options: CommandStoreOptions): Started<CommandStore> {
  const { database, worker, producer, clock, logger } = options;
  const outbox = startOutbox({ service: worker, database, rows: ROW_PER_TRANSACTION, producer, logger });
  const stopMeasuring = measureOutbox(worker, database);
  let attached: AttachedWorker = { messageOf: () => undefined, onFinal: () => undefined };

  const once = async <T>(work: (transaction: Unit) => Promise<T>) =>
    database.transaction(async (transaction) => {
      const unit = new Unit(transaction, clock, attached.messageOf);
      const value = await work(unit);
      if (unit.finalIds.length > 0) faultPoint(`${worker}.in-transaction`);
      // Not awaited: the commit follows on the same connection, and fails if this statement fails.
      const written = unit.write();
      written.catch(() => undefined);
      return { value, unit, written };
    });
  const transact = async <T>(work: (transaction: Unit) => Promise<T>): Promise<T> => {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const { value, unit, written } = await once(work);
        const outboxId = await written;
        const makesCommandsFinal = unit.finalIds.length > 0;
        if (makesCommandsFinal) faultPoint(`${worker}.after-commit`);
        if (outboxId !== null) {
          const published = outbox.value.publish([outboxId], unit.messages);
          if (makesCommandsFinal) void published.then((done) => done && faultPoint(`${worker}.after-publish`));
        }
        if (makesCommandsFinal) attached.onFinal(unit.finalIds);
        for (const { message, status } of unit.finalCommands()) measureFinalState(worker, message, status, clock);
        return value;
      } catch (error) {
        const pauseMs = TRANSACTION_PAUSES_MS[attempt];
        if (pauseMs === undefined || !isTransient(error)) throw error;
        logger.warn({ err: error, attempt: attempt + 1 }, "a unit of work is retried");
        if (pauseMs > 0) await delay(pauseMs);
      }
    }
  };
  return {
    value: {
      database,
      producer,
      transact,
      attach: (attachedWorker) => {
        attached = attachedWorker;
      },
    },
    stop: () => {
      stopMeasuring();
      return outbox.stop();
    },
  };
}
