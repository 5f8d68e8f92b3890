/**
 * A kapi in memory, the fake, for unit tests of programs that use the client. The real client runs;
 * only the network is replaced. Commands are carried out at once, unless the test holds them.
 *
 * @example
 * const fake = createFakeKapi();
 * const kapi = new Kapi(fake.options);
 * fake.failNext({ status: 500, afterEffect: true });
 */
import { randomBytes, randomUUID } from "node:crypto";

import { Webhook } from "standardwebhooks";

import type { KapiOptions } from "../kapi.ts";
import { FakeError } from "./answers.ts";
import { FakeApi, requestIdOf } from "./api.ts";
import { breachRule } from "./breaches.ts";
import { FakeCommands } from "./commands.ts";
import { FakeStream } from "./fake-stream.ts";
import { closePosition, type NewOrder, type NewPosition, openPosition, placeOrder } from "./operations.ts";
import { chargesOf } from "./prices.ts";
import { type CommandOutcome, FakeState, type Json, minorOf, type StoredAccount } from "./state.ts";

export { FakeStream, type SampleValues } from "./fake-stream.ts";
export type { NewOrder, NewPosition } from "./operations.ts";

const SECRET_BYTES = 32;

/** How a request fails. */
export interface RequestFailure {
  readonly status: number;
  /** Default: a usual code for 401, 402, 403, 429 and 500; `INTERNAL` for other statuses. */
  readonly code?: string;
  readonly retryAfterS?: number;
  /** Whether the request has its effect first, so that only the answer is lost. Default: false. */
  readonly afterEffect?: boolean;
}

/** A webhook delivery as kapi would send it. */
export interface SignedWebhook {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Set by tests whose assertions depend on the time of records. */
export interface FakeOptions {
  /** The time of all records and samples. Default: the clock of the machine. */
  readonly now?: () => Date;
}

const CODES: Readonly<Record<number, string>> = {
  401: "AUTHENTICATION_REQUIRED",
  402: "INSUFFICIENT_CREDITS",
  403: "MISSING_SCOPE",
  429: "RATE_LIMITED",
  500: "DEPENDENCY_UNAVAILABLE",
};

/** Returns a new kapi in memory, with one server. */
export function createFakeKapi(options: FakeOptions = {}): FakeKapi {
  return new FakeKapi(options);
}

/** A kapi in memory: see {@link createFakeKapi}. */
export class FakeKapi {
  readonly key = "kapi.fakefakefakefake.c2VjcmV0";
  readonly baseUrl = "http://fake.kapi.test";
  readonly liveUrl = "ws://fake.kapi.test";
  readonly serverId = randomUUID();
  /** The live stream: publish samples, disconnect, announce deletions. */
  readonly stream: FakeStream;
  /** The secret that {@link FakeKapi.signWebhook} signs with. */
  readonly webhookSecret = `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`;
  /** Every request, oldest first, such as `POST /api/v1/management/…`. */
  readonly requests: string[] = [];
  readonly #state: FakeState;
  readonly #api: FakeApi;
  readonly #commands: FakeCommands;
  #failures: RequestFailure[] = [];
  #outcomes: (CommandOutcome | "expired")[] = [];
  #isHeld = false;

  constructor({ now = () => new Date() }: FakeOptions) {
    this.#state = new FakeState(now);
    this.stream = new FakeStream(now);
    this.#commands = new FakeCommands(this.#state, {
      isHeld: () => this.#isHeld,
      takeOutcome: () => this.#outcomes.shift() ?? null,
    });
    this.#api = new FakeApi(this.#state, [this.serverId], this.#commands);
  }

  /** Options for `new Kapi(…)`. A retry waits only if the answer has `Retry-After`. */
  get options(): KapiOptions {
    const { key, baseUrl, liveUrl } = this;
    const retry = { firstDelayMs: 0, maxDelayMs: 0 };
    return { key, baseUrl, liveUrl, retry, fetch: this.fetch, socket: this.stream.socket };
  }

  /** Answers the next `count` requests with an error. */
  failNext(failure: RequestFailure, count = 1): void {
    this.#failures.push(...Array.from({ length: count }, () => failure));
  }

  /** New commands stay `queued` until {@link FakeKapi.releaseCommands}. */
  holdCommands(): void {
    this.#isHeld = true;
  }

  /** Carries out all held commands, in order. Later commands are carried out at once again. */
  releaseCommands(): void {
    this.#isHeld = false;
    for (const command of this.#state.commands.values()) {
      if (command.view["status"] === "queued") this.#commands.finish(command);
    }
  }

  /**
   * The next command to be carried out fails instead with this code, such as `REJECTED_BY_SERVER`.
   */
  failNextCommand(errorCode: string): void {
    this.#outcomes.push({ errorCode });
  }

  /** The next command to be carried out expires instead. */
  expireNextCommand(): void {
    this.#outcomes.push("expired");
  }

  /**
   * Opens a position, and returns its id.
   * @throws Error for an account that is unknown or not active.
   */
  openPosition(accountNumber: string, position: NewPosition = {}): string {
    return openPosition(this.#state, this.#account(accountNumber), position);
  }

  /**
   * Closes a position, and books its profit: a decimal amount such as `"-12.50"`.
   * @throws Error for an unknown account, and for a position that is not open.
   */
  closePosition(
    accountNumber: string,
    positionId: string,
    options: { readonly price?: number; readonly profit?: string } = {},
  ): void {
    const { price, profit = "0" } = options;
    const profitMinor = minorOf(Number(profit));
    closePosition(this.#state, this.#account(accountNumber), positionId, {
      profitMinor,
      ...(price === undefined ? {} : { price }),
    });
  }

  /**
   * Places a pending order, which waits until a command cancels it. Returns its id.
   * @throws Error for an account that is unknown or not active.
   */
  placeOrder(accountNumber: string, order: NewOrder = {}): string {
    return placeOrder(this.#state, this.#account(accountNumber), order);
  }

  /**
   * Breaches a risk rule of an account: records the breach, announces `risk.breached`, and queues
   * the command of the rule's action, if the action is not `notify`. Returns the id of the breach.
   * The fake does not compare values with rules; the breach has the values of a limit that is
   * reached exactly.
   * @throws Error for an unknown account or rule, and for a rule that is already breached in its
   * period.
   */
  breachRule(accountNumber: string, ruleId: string): string {
    return breachRule(this.#state, this.#commands, this.#account(accountNumber), ruleId);
  }

  /** Sets the equity of an account, a decimal amount, and sends a live sample of the account. */
  setEquity(accountNumber: string, equity: string, intervalMinimumEquity = equity): void {
    const account = this.#account(accountNumber);
    account.profitMinor = minorOf(Number(equity)) - account.balanceMinor;
    this.stream.publish(
      { serverId: account.serverId, accountNumber },
      {
        balance: account.balanceMinor / 100,
        equity: Number(equity),
        intervalMinimumEquity: Number(intervalMinimumEquity),
        openPositionCount: account.positions.filter((position) => position["status"] === "open").length,
      },
    );
  }

  /** Signs an event of the feed, or any other event, as a webhook delivery. */
  signWebhook(event: object, { id = randomUUID(), at = new Date() }: { id?: string; at?: Date } = {}): SignedWebhook {
    const body = JSON.stringify(event);
    const timestamp = String(Math.floor(at.getTime() / 1_000));
    const signature = new Webhook(this.webhookSecret).sign(id, at, body);
    const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
    return { body, headers: { "content-type": "application/json", ...headers } };
  }

  /** The `fetch` to give to the client. */
  readonly fetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    this.requests.push(`${request.method} ${new URL(request.url).pathname}`);
    const text = await request.text();
    const failure = this.#failures.shift();
    if (failure !== undefined && failure.afterEffect !== true) return failedAnswer(failure, request.headers);
    const answer = this.#answer(request, text);
    return failure === undefined ? answer : failedAnswer(failure, request.headers);
  };

  #answer(request: Request, text: string): Response {
    const requestId = requestIdOf(request.headers);
    try {
      if (request.headers.get("authorization") !== `Management ${this.key}`) {
        throw new FakeError(401, "AUTHENTICATION_REQUIRED", "Management API authentication required");
      }
      const answer = this.#api.answer({
        method: request.method,
        url: new URL(request.url),
        body: text === "" ? {} : (JSON.parse(text) as Json),
        idempotencyKey: request.headers.get("idempotency-key"),
      });
      const charged = this.#charge(request.method, answer, requestId);
      return jsonAnswer(answer.status, answer.body, requestId, { "x-credits-charged": String(charged) });
    } catch (error) {
      if (!(error instanceof FakeError)) throw error;
      const { message, code, status, issues } = error;
      const body = { error: message, code, requestId, ...(issues === undefined ? {} : { issues }) };
      return jsonAnswer(status, body, requestId, { "x-error-code": code });
    }
  }

  /** Charges an answered request, and returns the credits. */
  #charge(method: string, answer: ReturnType<FakeApi["answer"]>, xRequestId: string): number {
    const { operation } = answer;
    const charges = chargesOf(method, operation, answer);
    const at = this.#state.now();
    this.#state.usage.push(...charges.map((charge) => ({ xRequestId, operation, ...charge, at, createdBy: null })));
    const credits = charges.reduce((sum, charge) => sum + charge.credits, 0);
    this.#state.availableCredits -= credits;
    this.#state.consumedCredits += credits;
    return credits;
  }

  #account(accountNumber: string): StoredAccount {
    const account = this.#state.account(this.serverId, accountNumber);
    if (account === undefined) throw new Error(`the fake has no account ${accountNumber}`);
    return account;
  }
}

function failedAnswer({ status, code, retryAfterS }: RequestFailure, headers: Headers): Response {
  const requestId = requestIdOf(headers);
  const errorCode = code ?? CODES[status] ?? "INTERNAL";
  const retryAfter: Record<string, string> = retryAfterS === undefined ? {} : { "retry-after": String(retryAfterS) };
  const body = { error: errorCode, code: errorCode, requestId };
  return jsonAnswer(status, body, requestId, { "x-error-code": errorCode, ...retryAfter });
}

function jsonAnswer(
  status: number,
  body: Json,
  requestId: string,
  headers: Readonly<Record<string, string>>,
): Response {
  const all = { "content-type": "application/json; charset=utf-8", "x-request-id": requestId, ...headers };
  return new Response(JSON.stringify(body), { status, headers: all });
}
