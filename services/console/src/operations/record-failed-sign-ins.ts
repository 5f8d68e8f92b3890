import { type Clock, toIso } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { AuditRecord } from "../domain/audit.ts";
import { type AttemptKey, type CountedFailures, FailedSignIns, type FailedUser } from "../domain/failed-sign-ins.ts";
import type { PeopleStore } from "../domain/ports.ts";

/** A failed sign-in. */
export interface FailedAttempt extends AttemptKey {
  /** Network address of the caller. */
  readonly address: string;
}

/**
 * Records failed sign-ins in the audit log; see `domain/failed-sign-ins.ts`. The answer to a
 * sign-in never waits for the entry: the time of the answer would show whether the e-mail address
 * is known.
 */
export interface FailedSignInRecorder {
  /** Counts an attempt; `user` is null for an unknown e-mail address. */
  readonly add: (attempt: FailedAttempt, user: FailedUser | null) => void;
  /**
   * Counts a throttled attempt. `lookUp` finds the user of the attempt. `lookUp` is called only for
   * attempts without an open window, and a limited number of times a minute.
   */
  readonly addThrottled: (attempt: FailedAttempt, lookUp: () => Promise<FailedUser | null>) => void;
  /**
   * Writes the counts of finished windows ("over", the default), or of all windows ("all"). A
   * failed write is repeated, at the latest by the next `flush`.
   */
  readonly flush: (which?: "over" | "all") => Promise<void>;
}

interface FailedSignInDependencies {
  readonly store: PeopleStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Creates the recorder. Its counts are in the memory of this process. */
export function createFailedSignIns({ store, clock, logger }: FailedSignInDependencies): FailedSignInRecorder {
  const counts = new FailedSignIns();
  /**
   * Failures that are taken from `counts` and not written yet. While `due` has failures, `flush`
   * takes no further failures from `counts`, except with "all".
   */
  let due: readonly CountedFailures[] = [];
  let writing: Promise<void> | null = null;
  const lookUps = new Set<Promise<void>>();

  const writeAll = async (): Promise<void> => {
    // Lets the caller assign `writing` first.
    await Promise.resolve();
    try {
      while (due.length > 0) {
        const written = due;
        await store.transaction(async (tx) => tx.recordAudit(written.map(recordOf)));
        due = due.filter((one) => !written.includes(one));
      }
    } finally {
      // There is no `await` after the last check of `due`: a later addition starts a new write.
      writing = null;
    }
  };
  /**
   * One transaction at a time: failures that arrive meanwhile are written by the next transaction.
   */
  const writeDue = (): Promise<void> => (writing ??= writeAll());
  const add = (attempt: FailedAttempt, user: FailedUser | null): void => {
    const nowMs = clock.nowMs();
    if (counts.count(attempt, nowMs)) return;
    const first = counts.open(attempt, { user, address: attempt.address }, nowMs);
    if (first === null) return;
    due = [...due, first];
    writeDue().catch((error: unknown) =>
      logger.warn({ err: error }, "failed sign-ins could not be written to the audit log; the write is repeated"),
    );
  };

  return {
    add,
    addThrottled: (attempt, lookUp) => {
      const nowMs = clock.nowMs();
      if (counts.count(attempt, nowMs)) return;
      if (!counts.mayLookUp(nowMs)) return counts.countOther(null, nowMs);
      const added = lookUp()
        .then((user) => add(attempt, user))
        .catch((error: unknown) => {
          counts.countOther(null, nowMs);
          logger.warn({ err: error }, "a failed sign-in is recorded without its user");
        })
        .finally(() => lookUps.delete(added));
      lookUps.add(added);
    },
    flush: async (which) => {
      if (which === "all") await Promise.all(lookUps);
      if (due.length === 0 || which === "all") {
        const ended = counts.end(clock.nowMs(), which);
        const failures = ended.reduce((sum, one) => sum + one.failures, 0);
        if (failures > 0) logger.info({ entries: ended.length, failures }, "failed sign-ins are recorded together");
        due = [...due, ...ended];
      }
      await writeDue();
    },
  };
}

function recordOf({
  eventId,
  organizationId,
  userId,
  address,
  failures,
  firstMs,
  lastMs,
}: CountedFailures): AuditRecord {
  return {
    eventId,
    actor: null,
    address,
    organizationId,
    action: "session.failed",
    subject: userId === null ? null : { type: "user", id: userId },
    details: failures === 1 ? { failures } : { failures, since: toIso(firstMs) },
    atMs: lastMs,
  };
}
