import { type Clock, toIso } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { AuditRecord } from "../domain/audit.ts";
import { type AttemptPlace, type CountedFailures, FailedSignIns, type FailedUser } from "../domain/failed-sign-ins.ts";
import type { Store } from "../domain/ports.ts";

/** A failed attempt. */
export interface FailedAttempt extends AttemptPlace {
  /** Network address of whoever tries. */
  readonly address: string;
  /** Looks up whose e-mail address it was; asked only for an attempt that is not counted with others. */
  readonly user: () => Promise<FailedUser | null>;
}

/** Records failed sign-ins in the audit log; see `domain/failed-sign-ins.ts`. */
export interface FailedSignInRecorder {
  /** Rejects where an entry is due and cannot be written now; it is written later. */
  readonly add: (attempt: FailedAttempt) => Promise<void>;
  /** Writes what was counted in windows that are over, or in all. What cannot be written is kept for the next call. */
  readonly flush: (which?: "over" | "all") => Promise<void>;
}

export interface FailedSignInNeeds {
  readonly store: Pick<Store, "transaction">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Makes the recorder of this process. */
export function createFailedSignIns({ store, clock, logger }: FailedSignInNeeds): FailedSignInRecorder {
  const counts = new FailedSignIns();
  /** Taken out of the counts and not written yet. While there are any, windows stay open. */
  let due: readonly CountedFailures[] = [];
  const write = (failures: readonly CountedFailures[]): Promise<void> =>
    store.transaction(async (tx) => tx.recordAudit(failures.map(recordOf)));
  return {
    add: async (attempt) => {
      const nowMs = clock.nowMs();
      if (counts.count(attempt, nowMs)) return;
      const user = await attempt.user();
      // Another attempt may have opened the window meanwhile.
      if (counts.count(attempt, nowMs)) return;
      const first = counts.open(attempt, { user, address: attempt.address }, nowMs);
      if (first === null) return;
      await write([first]).catch((error: unknown) => {
        due = [...due, first];
        throw error;
      });
    },
    flush: async (which) => {
      if (due.length === 0 || which === "all") due = [...due, ...counts.end(clock.nowMs(), which)];
      if (due.length === 0) return;
      const written = due;
      await write(written);
      due = due.filter((one) => !written.includes(one));
      const failures = written.reduce((sum, one) => sum + one.failures, 0);
      logger.info({ entries: written.length, failures }, "failed sign-ins were recorded together");
    },
  };
}

function recordOf({ user, address, failures, firstMs, lastMs }: CountedFailures): AuditRecord {
  return {
    actor: null,
    address,
    organizationId: user?.organizationId ?? null,
    action: "session.failed",
    subject: user === null ? null : { type: "user", id: user.userId },
    details: failures === 1 ? { failures } : { failures, since: toIso(firstMs) },
    atMs: lastMs,
  };
}
