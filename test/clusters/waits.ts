import { delay } from "@kapi/kernel";

const POLL_MS = 500;
const REPORT_EVERY_MS = 20_000;

/** The waits of a run. Each has a deadline, and the open waits can be printed at any time. */
export class Waits {
  readonly #say: (text: string) => void;
  readonly #current = new Set<string>();

  constructor(say: (text: string) => void) {
    this.#say = say;
  }

  /** Names of the open waits. */
  get current(): readonly string[] {
    return [...this.#current];
  }

  /**
   * Repeats `check` until it returns null, and returns null. Any other result, or the message of a
   * thrown error, is the reason to wait. After `deadlineMs`, returns the last reason.
   */
  async until(
    what: string,
    deadlineMs: number,
    check: () => Promise<string | null> | string | null,
  ): Promise<string | null> {
    const beganMs = Date.now();
    let printedMs = beganMs;
    this.#current.add(what);
    try {
      for (;;) {
        const missing = await checked(check);
        if (missing === null) return null;
        if (Date.now() - beganMs > deadlineMs) return missing;
        if (Date.now() - printedMs > REPORT_EVERY_MS) {
          printedMs = Date.now();
          this.#say(`  still waits for ${what} after ${Math.round((printedMs - beganMs) / 1_000)} s: ${missing}`);
        }
        await delay(POLL_MS);
      }
    } finally {
      this.#current.delete(what);
    }
  }

  /** Returns the result of `work`; throws if `work` takes longer than `deadlineMs`. */
  async within<T>(what: string, deadlineMs: number, work: Promise<T>): Promise<T> {
    this.#current.add(what);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`${what} took longer than ${deadlineMs / 1_000} s`)), deadlineMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
      this.#current.delete(what);
    }
  }
}

async function checked(check: () => Promise<string | null> | string | null): Promise<string | null> {
  try {
    return await check();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
