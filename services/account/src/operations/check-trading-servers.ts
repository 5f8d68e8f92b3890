import { ApiError } from "@kapi/http";
import { type Clock, toIso } from "@kapi/kernel";

/** Maximum wait for the answer of a trading server, in milliseconds. */
const CHECK_TIMEOUT_MS = 1_000;
/** How long the result of a check is used. */
const CHECK_TTL_MS = 5_000;
/** Maximum number of servers whose last check is kept. The oldest check is dropped first. */
const MAX_CHECKED_SERVERS = 1_000;

interface ServerCheck {
  readonly answers: boolean;
  /** When the server last answered a check by this process; null: unknown. */
  readonly answeredAt: string | null;
}

interface Checked {
  readonly atMs: number;
  readonly result: Promise<ServerCheck>;
}

/** Checks whether trading servers answer, each at most once in {@link CHECK_TTL_MS}. */
export class TradingServerChecks {
  readonly #ask: (serverId: string) => Promise<unknown>;
  readonly #clock: Clock;
  /** The last check of each server, oldest first. */
  readonly #checked = new Map<string, Checked>();

  /**
   * `ask` rejects if the server does not answer. It rejects with ApiError
   * TOO_MANY_CONCURRENT_REQUESTS if the server was not asked.
   */
  constructor(ask: (serverId: string) => Promise<unknown>, clock: Clock) {
    this.#ask = ask;
    this.#clock = clock;
  }

  /** The result for each server, in order. */
  check(serverIds: readonly string[]): Promise<ServerCheck[]> {
    return Promise.all(serverIds.map((serverId) => this.#recent(serverId)));
  }

  #recent(serverId: string): Promise<ServerCheck> {
    const nowMs = this.#clock.nowMs();
    const known = this.#checked.get(serverId);
    if (known !== undefined && Math.abs(nowMs - known.atMs) < CHECK_TTL_MS) return known.result;
    const result = this.#checkNow(serverId, known);
    this.#checked.delete(serverId);
    this.#checked.set(serverId, { atMs: nowMs, result });
    const [oldest = serverId] = this.#checked.keys();
    if (this.#checked.size > MAX_CHECKED_SERVERS) this.#checked.delete(oldest);
    return result;
  }

  async #checkNow(serverId: string, before: Checked | undefined): Promise<ServerCheck> {
    const answers = await answersInTime(this.#ask(serverId));
    if (answers === true) return { answers, answeredAt: toIso(this.#clock.nowMs()) };
    const last = await before?.result;
    // The server was not asked: the last result stays. Without one, the server counts as answering.
    if (answers === null) return last ?? { answers: true, answeredAt: null };
    return { answers, answeredAt: last?.answeredAt ?? null };
  }
}

/** Null: the server was not asked, because too many calls of its organization wait. */
async function answersInTime(asked: Promise<unknown>): Promise<boolean | null> {
  const { promise: tooLate, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), CHECK_TIMEOUT_MS);
  const answered = asked.then(
    () => true,
    (error: unknown) => (isAboveShare(error) ? null : false),
  );
  return Promise.race([answered, tooLate]).finally(() => clearTimeout(timer));
}

function isAboveShare(error: unknown): boolean {
  return error instanceof ApiError && error.code === "TOO_MANY_CONCURRENT_REQUESTS";
}
