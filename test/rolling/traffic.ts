import { randomUUID } from "node:crypto";

import { type Answer, type EnvelopeView, type OutsideClient, pause } from "../e2e/outside-client.ts";
import type { RandomSource } from "../live/random-source.ts";
import type { Violations } from "../live/violations.ts";

/** Interval at which due requests are sent, in milliseconds. */
const TURN_MS = 10;
/** Maximum number of requests in flight; more are counted as not sent. */
const MAX_IN_FLIGHT = 2_000;
/** End of a path whose answer always needs the trading server (decisions, 4.11). */
const ASKS_SERVER = "positions?status=open&limit=1";
/** One of this many mutations is an export of history, which costs more than moving money. */
const EXPORT_EVERY = 200;
const MAX_AMOUNT_MINOR = 10_000;
const OK = 200;
const ACCEPTED = 202;
const ERROR_CHARACTERS = 300;
/** Maximum number of tries, without those that fail because the trading server is unavailable. */
const MAX_TRIES = 20;
/** The problem of a request that got Retry-After while the trading server was unavailable. */
const MUST_WAIT = "the trading server is unavailable";
const IDS = /[0-9a-f]{8}-[0-9a-f-]{27}|\d{8}/g;

/** An accepted deposit or withdrawal. */
export interface Moved {
  readonly commandId: string;
  readonly accountNumber: string;
  /** Less than 0 for a withdrawal. */
  readonly amountMinor: number;
}

/** A request that was answered with Retry-After. */
export interface Rejection {
  readonly what: string;
  readonly requestId: string;
}

/**
 * An organization's backend that sends deposits, withdrawals, some exports, and many kinds of
 * reads, without waiting for earlier answers. A request is sent again with the same key after each
 * failure. The first failure alone is no violation if it is a lost connection or an answer with
 * Retry-After; `explainRejections` later checks the causes of these answers. Any other failure,
 * such as a timeout, and a second failure are violations. A failure because the trading server is
 * unavailable does not count.
 */
export class Traffic {
  /** `slowestMs` is the longest time of a deposit or withdrawal, with all its tries. */
  readonly counts = {
    mutations: 0,
    exports: 0,
    reads: 0,
    notSent: 0,
    lost: 0,
    waited: 0,
    slowestMs: 0,
  };
  readonly moved: Moved[] = [];
  /**
   * Requests that were answered with Retry-After. While `isServerUnavailable`, reads that need the
   * trading server are left out.
   */
  readonly rejections: Rejection[] = [];
  /** While true, Retry-After in answers to reads that need the trading server is no failure. */
  isServerUnavailable = false;
  readonly #client: OutsideClient;
  readonly #accounts: readonly string[];
  readonly #random: RandomSource;
  readonly #violations: Violations;
  readonly #underWay = new Set<Promise<void>>();
  readonly #failures = new Map<string, number>();
  #stopping = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: {
    client: OutsideClient;
    accounts: readonly string[];
    random: RandomSource;
    violations: Violations;
  }) {
    this.#client = options.client;
    this.#accounts = options.accounts;
    this.#random = options.random;
    this.#violations = options.violations;
  }

  /** Starts to send this many mutations and reads a second. */
  start(perSecond: { readonly mutations: number; readonly reads: number }): void {
    this.#running = this.#send(perSecond);
  }

  /** Sends no new requests, waits for requests in flight, and reports the failures. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#running;
    await Promise.all(this.#underWay);
    for (const [kind, times] of this.#failures) this.#violations.add(`${times} times: ${kind}`);
    this.#failures.clear();
  }

  async #send({ mutations, reads }: { mutations: number; reads: number }): Promise<void> {
    const beganMs = performance.now();
    let [mutated, read] = [0, 0];
    while (!this.#stopping) {
      const elapsedS = (performance.now() - beganMs) / 1_000;
      for (; mutated < elapsedS * mutations; mutated += 1) this.#begin(() => this.#mutate(mutated));
      for (; read < elapsedS * reads; read += 1) this.#begin(() => this.#read(read));
      await pause(TURN_MS);
    }
  }

  #begin(work: () => Promise<void>): void {
    if (this.#underWay.size >= MAX_IN_FLIGHT) {
      this.counts.notSent += 1;
      return;
    }
    const running = work().finally(() => this.#underWay.delete(running));
    this.#underWay.add(running);
  }

  async #mutate(turn: number): Promise<void> {
    const accountNumber = this.#random.pick(this.#accounts);
    const key = randomUUID();
    if (turn % EXPORT_EVERY === EXPORT_EVERY - 1) {
      const path = `/accounts/${accountNumber}/exports/history`;
      const body = { limit: 100, requestId: key };
      const queued = await this.#served("an export", () => this.#client.send("POST", path, body, key));
      if (queued !== null) this.counts.exports += 1;
      return;
    }
    const amountMinor = this.#random.whole(1, MAX_AMOUNT_MINOR);
    const isDeposit = this.#random.happens(0.5);
    const body = { amount: amountMinor / 100, requestId: key };
    const beganMs = performance.now();
    const answer = await this.#served<EnvelopeView>(isDeposit ? "a deposit" : "a withdrawal", () =>
      isDeposit ? this.#client.deposit(accountNumber, body, key) : this.#client.withdraw(accountNumber, body, key),
    );
    this.counts.slowestMs = Math.max(this.counts.slowestMs, performance.now() - beganMs);
    if (answer === null) return;
    this.counts.mutations += 1;
    const commandId = answer.body.command.id;
    this.moved.push({ commandId, accountNumber, amountMinor: isDeposit ? amountMinor : -amountMinor });
  }

  async #read(turn: number): Promise<void> {
    const account = `/accounts/${this.#random.pick(this.#accounts)}`;
    const last = this.moved.at(-1)?.commandId;
    const paths = [
      ...(last === undefined ? [] : [`/commands/${last}`, `/commands/${last}?wait=10`]),
      ...["/commands?limit=5", "/configuration", "/accounts?page=1&limit=5", "/account-metrics?limit=5", account].map(
        (path) => this.#client.server(path),
      ),
      ...["transactions?limit=5", "orders?limit=5", ASKS_SERVER, "deals?limit=5"].map((path) =>
        this.#client.server(`${account}/${path}`),
      ),
      "/credits/balance",
      "/credits/usage?limit=5",
      "/webhooks",
      "/events?limit=5",
    ];
    const path = paths[turn % paths.length] ?? "";
    if ((await this.#served(`GET ${path}`, () => this.#client.call("GET", path))) !== null) this.counts.reads += 1;
  }

  /**
   * Returns the successful answer, or null if no try succeeds. The tries continue after a
   * violation: kapi may have accepted a request whose answer is lost, and the reconciliation needs
   * the answers of all accepted requests.
   */
  async #served<T>(what: string, send: () => Promise<Answer<T>>): Promise<Answer<T> | null> {
    const problems: string[] = [];
    for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
      const [answer, problem] = await this.#try(what, send);
      if (problem === null) return answer;
      if (problem === MUST_WAIT) {
        tries -= 1;
        continue;
      }
      problems.push(problem);
      if (problems.length === 2) this.#fail(`${what} was not served at the second try: ${problems.join("; then ")}`);
    }
    this.#fail(`${what} was never served`);
    return null;
  }

  /**
   * Sends the request once. Returns the answer or the problem. After an answer with Retry-After, it
   * first waits for the time in this header.
   */
  async #try<T>(
    what: string,
    send: () => Promise<Answer<T>>,
  ): Promise<readonly [Answer<T>, null] | readonly [null, string]> {
    let answer: Answer<T>;
    try {
      answer = await send();
    } catch (error) {
      if (!isLost(error)) {
        const cause = causeOf(error);
        this.#fail(`${what} got no complete answer: ${cause}`);
        return [null, cause];
      }
      this.counts.lost += 1;
      return [null, "the connection was lost"];
    }
    const { status, headers, body } = answer;
    if (status === OK || status === ACCEPTED) return [answer, null];
    const retryAfterS = headers.get("retry-after");
    const text = `${status} ${headers.get("x-error-code")} ${JSON.stringify(body).slice(0, ERROR_CHARACTERS)}`;
    if (retryAfterS === null) {
      this.#fail(`${what} was answered ${text}`);
      return [null, text];
    }
    const mustWait = this.isServerUnavailable && what.endsWith(ASKS_SERVER);
    if (mustWait) this.counts.waited += 1;
    else this.rejections.push({ what, requestId: headers.get("x-request-id") ?? "" });
    await pause(Number(retryAfterS) * 1_000);
    return [null, mustWait ? MUST_WAIT : text];
  }

  /** Counts a failure. Failures that differ only in ids and account numbers are printed once. */
  #fail(text: string): void {
    const kind = text.replaceAll(IDS, "…");
    this.#failures.set(kind, (this.#failures.get(kind) ?? 0) + 1);
  }
}

/** Whether the connection failed. A timeout is not a lost connection. */
function isLost(error: unknown): boolean {
  return error instanceof TypeError;
}

function causeOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
