/**
 * Counts failed sign-ins, so that many of them become few audit entries. The first failure of an
 * e-mail address and network is an entry at once, and opens a window of one minute. Further
 * failures in this window are one entry with their number. Failures without a window are one entry
 * for each organization and minute. A failure has no window if there are too many windows, or if
 * the user of a throttled attempt was not looked up.
 */
import { uuidV7 } from "@kapi/kernel";

/** Failures of one e-mail address and network are counted together for this time. */
export const FAILURE_WINDOW_MS = 60_000;
/**
 * Maximum number of windows per organization. A window counts the failures of one pair of user and
 * network. Each organization has its own limit, so a flood in one does not hide failures in others.
 */
export const MAX_USER_WINDOWS = 20;
/** Maximum number of windows for unknown e-mail addresses. */
export const MAX_UNKNOWN_WINDOWS = 50;
/**
 * Maximum number of user look-ups per minute for throttled attempts; further attempts are counted
 * without a user.
 */
export const MAX_THROTTLED_LOOK_UPS = 60;

/** The user whose e-mail address was entered. */
export interface FailedUser {
  readonly userId: string;
  readonly organizationId: string;
}

/** The e-mail address and the network of an attempt: the key of a window. */
export interface AttemptKey {
  /**
   * SHA-256 of the e-mail address. Unknown e-mail addresses are never recorded: some people type
   * their password in place of the e-mail address.
   */
  readonly emailHash: string;
  /** The network of the caller's address, see `networkOf`. */
  readonly network: string;
}

interface Count {
  /** Chosen at the first failure: a repeated write adds no second entry. */
  readonly eventId: string;
  readonly failures: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Failures that become one audit entry. */
export interface CountedFailures extends Count {
  /** Null: unknown user, or not looked up. */
  readonly organizationId: string | null;
  /** Null: unknown user, not looked up, or several users. */
  readonly userId: string | null;
  /**
   * The network address of the caller at the first failure. Null: the failures were counted without
   * a window, and may come from several network addresses.
   */
  readonly address: string | null;
}

interface Window {
  readonly organizationId: string | null;
  readonly userId: string | null;
  readonly address: string;
  readonly openedMs: number;
  /** Failures that have no entry yet. */
  count: Count | null;
}

/** The counts of one process; see the top of this file. */
export class FailedSignIns {
  readonly #windows = new Map<string, Window>();
  /** Number of windows per organization; null: of unknown e-mail addresses. */
  readonly #open = new Map<string | null, number>();
  /** Failures without a window, by organization. */
  readonly #others = new Map<string | null, Count>();
  #lookUps = { sinceMs: Number.NEGATIVE_INFINITY, made: 0 };

  /**
   * Counts a failure in its open window. False: there is no window, and the failure is not counted.
   */
  count(attempt: AttemptKey, nowMs: number): boolean {
    const window = this.#windows.get(keyOf(attempt));
    if (window === undefined) return false;
    window.count = oneMore(window.count, nowMs);
    return true;
  }

  /**
   * Opens a window for a first failure, and returns the failure: the caller must record it now.
   * Null: there are too many windows, and the failure is counted without a window.
   */
  open(
    attempt: AttemptKey,
    first: { readonly user: FailedUser | null; readonly address: string },
    nowMs: number,
  ): CountedFailures | null {
    const organizationId = first.user?.organizationId ?? null;
    const open = this.#open.get(organizationId) ?? 0;
    if (open >= (organizationId === null ? MAX_UNKNOWN_WINDOWS : MAX_USER_WINDOWS)) {
      this.countOther(organizationId, nowMs);
      return null;
    }
    this.#open.set(organizationId, open + 1);
    const whose = { organizationId, userId: first.user?.userId ?? null, address: first.address };
    this.#windows.set(keyOf(attempt), { ...whose, openedMs: nowMs, count: null });
    return { ...whose, ...oneMore(null, nowMs) };
  }

  /** Counts a failure without a window. */
  countOther(organizationId: string | null, nowMs: number): void {
    this.#others.set(organizationId, oneMore(this.#others.get(organizationId) ?? null, nowMs));
  }

  /** Whether a throttled attempt may look its user up now; counts the look-up. */
  mayLookUp(nowMs: number): boolean {
    if (nowMs - this.#lookUps.sinceMs >= FAILURE_WINDOW_MS) this.#lookUps = { sinceMs: nowMs, made: 0 };
    if (this.#lookUps.made >= MAX_THROTTLED_LOOK_UPS) return false;
    this.#lookUps.made += 1;
    return true;
  }

  /**
   * Closes the windows that are over, or all windows. Returns their failures that have no entry
   * yet, and failures without a window: those whose minute is over, or all.
   */
  end(nowMs: number, which: "over" | "all" = "over"): CountedFailures[] {
    const isOver = (sinceMs: number): boolean => which === "all" || nowMs - sinceMs >= FAILURE_WINDOW_MS;
    const ended: CountedFailures[] = [];
    for (const [key, { organizationId, userId, address, openedMs, count }] of this.#windows) {
      if (!isOver(openedMs)) continue;
      this.#windows.delete(key);
      this.#closeOne(organizationId);
      if (count !== null) ended.push({ organizationId, userId, address, ...count });
    }
    for (const [organizationId, count] of this.#others) {
      if (!isOver(count.firstMs)) continue;
      this.#others.delete(organizationId);
      ended.push({ organizationId, userId: null, address: null, ...count });
    }
    return ended;
  }

  #closeOne(organizationId: string | null): void {
    const open = (this.#open.get(organizationId) ?? 0) - 1;
    if (open > 0) this.#open.set(organizationId, open);
    else this.#open.delete(organizationId);
  }
}

function oneMore(count: Count | null, nowMs: number): Count {
  if (count === null) return { eventId: uuidV7(nowMs), failures: 1, firstMs: nowMs, lastMs: nowMs };
  return { ...count, failures: count.failures + 1, lastMs: nowMs };
}

function keyOf({ emailHash, network }: AttemptKey): string {
  return `${emailHash} ${network}`;
}
