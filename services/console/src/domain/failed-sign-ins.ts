/**
 * Counts failed sign-ins, so that a flood of them is few entries of the audit log. The first
 * failure under an e-mail address from a network is an entry at once; the others of the same minute
 * are one entry with their number.
 */
import { uuidV7 } from "@kapi/kernel";

/** How long failures under one e-mail address from one network are counted together. */
export const FAILURE_WINDOW_MS = 60_000;
/**
 * Most pairs of a user of one organization and a network that a process counts apart; failures
 * beyond them are counted together. Each organization has room of its own: a flood of one does not
 * hide failures of the others.
 */
export const MAX_USER_WINDOWS = 20;
/** The same for all e-mail addresses of nobody. */
export const MAX_UNKNOWN_WINDOWS = 50;
/**
 * Most users that are looked up in a minute for attempts that had to wait; those beyond are counted
 * without a user.
 */
export const MAX_THROTTLED_LOOK_UPS = 60;

/** The user whose e-mail address it was. */
export interface FailedUser {
  readonly userId: string;
  readonly organizationId: string;
}

/** Where an attempt is counted. */
export interface AttemptPlace {
  /**
   * SHA-256 of the e-mail address: of nobody's address not even that is recorded, for it may be a
   * password.
   */
  readonly emailHash: string;
  /** The network of `address`. */
  readonly network: string;
}

interface Count {
  /** Begins with the count: however often its entry is written, it is one entry. */
  readonly eventId: string;
  readonly failures: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Failures that become one entry. */
export interface CountedFailures extends Count {
  /** Null: of nobody, or not looked up. */
  readonly organizationId: string | null;
  /** Null: of nobody, or several. */
  readonly userId: string | null;
  /** Null: several. */
  readonly address: string | null;
}

interface Window {
  readonly organizationId: string | null;
  readonly userId: string | null;
  readonly address: string;
  readonly openedMs: number;
  /** Failures that are in no entry yet. */
  count: Count | null;
}

/** The counts of one process. */
export class FailedSignIns {
  readonly #windows = new Map<string, Window>();
  /** How many windows each organization has; null: addresses of nobody. */
  readonly #open = new Map<string | null, number>();
  /** Failures that had no window of their own, by organization. */
  readonly #others = new Map<string | null, Count>();
  #lookUps = { sinceMs: Number.NEGATIVE_INFINITY, made: 0 };

  /** Counts a failure where its window is open; false: it has none, and is not counted. */
  count(place: AttemptPlace, nowMs: number): boolean {
    const window = this.#windows.get(keyOf(place));
    if (window === undefined) return false;
    window.count = oneMore(window.count, nowMs);
    return true;
  }

  /**
   * Opens a window with its first failure, which is to be recorded now. Null: no room, it is
   * counted with others.
   */
  open(
    place: AttemptPlace,
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
    this.#windows.set(keyOf(place), { ...whose, openedMs: nowMs, count: null });
    return { ...whose, ...oneMore(null, nowMs) };
  }

  /** Counts a failure together with others of the organization, or of nobody. */
  countOther(organizationId: string | null, nowMs: number): void {
    this.#others.set(organizationId, oneMore(this.#others.get(organizationId) ?? null, nowMs));
  }

  /** Whether the user of an attempt that had to wait may be looked up now, which it then is. */
  mayLookUp(nowMs: number): boolean {
    if (nowMs - this.#lookUps.sinceMs >= FAILURE_WINDOW_MS) this.#lookUps = { sinceMs: nowMs, made: 0 };
    if (this.#lookUps.made >= MAX_THROTTLED_LOOK_UPS) return false;
    this.#lookUps.made += 1;
    return true;
  }

  /**
   * Ends the windows that were opened a minute ago, or all of them, and gives what is in no entry
   * yet.
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

function keyOf({ emailHash, network }: AttemptPlace): string {
  return `${emailHash} ${network}`;
}
