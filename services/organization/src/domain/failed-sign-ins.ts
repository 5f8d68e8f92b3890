/**
 * Counts failed sign-ins, so that a flood of them is few entries of the audit log. The first failure
 * under an e-mail address from a network is an entry at once; the others of the same minute are one
 * entry with their number.
 */

/** How long failures under one e-mail address from one network are counted together. */
export const FAILURE_WINDOW_MS = 60_000;
/** Most pairs of a user and a network that a process counts apart; failures beyond them are counted together. */
export const MAX_USER_WINDOWS = 200;
/** The same for e-mail addresses of nobody: they must not take the room of users. */
export const MAX_UNKNOWN_WINDOWS = 50;

/** The user whose e-mail address it was. */
export interface FailedUser {
  readonly userId: string;
  readonly organizationId: string;
}

/** Where an attempt is counted. */
export interface AttemptPlace {
  /** SHA-256 of the e-mail address: of nobody's address not even that is recorded, for it may be a password. */
  readonly emailHash: string;
  /** The network of `address`. */
  readonly network: string;
}

/** Failures that become one entry. */
export interface CountedFailures {
  /** Null: an e-mail address of nobody, or several. */
  readonly user: FailedUser | null;
  /** Null: several. */
  readonly address: string | null;
  readonly failures: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

interface Window {
  readonly user: FailedUser | null;
  readonly address: string;
  readonly openedMs: number;
  /** Failures that are in no entry yet. */
  failures: number;
  firstMs: number;
  lastMs: number;
}

/** The counts of one process. */
export class FailedSignIns {
  readonly #windows = new Map<string, Window>();
  /** Failures that had no window of their own. */
  #others: Omit<CountedFailures, "user" | "address"> | null = null;

  /** Counts a failure where its window is open; false: it has none, and is not counted. */
  count(place: AttemptPlace, nowMs: number): boolean {
    const window = this.#windows.get(keyOf(place));
    if (window === undefined) return false;
    if (window.failures === 0) window.firstMs = nowMs;
    window.failures += 1;
    window.lastMs = nowMs;
    return true;
  }

  /** Opens a window with its first failure, which is to be recorded now. Null: no room, it is counted with others. */
  open(
    place: AttemptPlace,
    first: { readonly user: FailedUser | null; readonly address: string },
    nowMs: number,
  ): CountedFailures | null {
    if (!this.#hasRoom(first.user)) {
      const { failures, firstMs } = this.#others ?? { failures: 0, firstMs: nowMs };
      this.#others = { failures: failures + 1, firstMs, lastMs: nowMs };
      return null;
    }
    const times = { firstMs: nowMs, lastMs: nowMs };
    this.#windows.set(keyOf(place), { ...first, openedMs: nowMs, failures: 0, ...times });
    return { ...first, failures: 1, ...times };
  }

  /** Ends the windows that were opened a minute ago, or all of them, and gives what is in no entry yet. */
  end(nowMs: number, which: "over" | "all" = "over"): CountedFailures[] {
    const ended: CountedFailures[] = [];
    for (const [key, { user, address, openedMs, failures, firstMs, lastMs }] of this.#windows) {
      if (which === "over" && nowMs - openedMs < FAILURE_WINDOW_MS) continue;
      this.#windows.delete(key);
      if (failures > 0) ended.push({ user, address, failures, firstMs, lastMs });
    }
    const others = this.#others;
    if (others === null || (which === "over" && nowMs - others.firstMs < FAILURE_WINDOW_MS)) return ended;
    this.#others = null;
    return [...ended, { user: null, address: null, ...others }];
  }

  #hasRoom(user: FailedUser | null): boolean {
    let same = 0;
    for (const window of this.#windows.values()) if ((window.user === null) === (user === null)) same += 1;
    return same < (user === null ? MAX_UNKNOWN_WINDOWS : MAX_USER_WINDOWS);
  }
}

function keyOf({ emailHash, network }: AttemptPlace): string {
  return `${emailHash} ${network}`;
}
