/**
 * An organization's backend that uses only the public interface, with plain fetch and a plain
 * WebSocket.
 */
import { randomUUID } from "node:crypto";
import WebSocket from "ws";

/** The fields of `.local/demo.json` that this client uses; `npm start` writes this file. */
export interface Demo {
  readonly baseUrl: string;
  readonly wsBase: string;
  readonly managementKey: string;
  readonly organizationId: string;
  readonly serverId: string;
  readonly tradingServerUrl: string;
  /** Token of the trading server's control API. A loopback address needs no token. */
  readonly controlToken?: string;
}

/** An HTTP answer with its JSON body read. */
export interface Answer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

export interface ErrorAnswer {
  readonly error: string;
  readonly issues?: readonly { readonly path: readonly (string | number)[]; readonly message: string }[];
}

export interface CommandView {
  readonly id: string;
  readonly operation: string;
  readonly status: string;
  readonly attempts: number;
  readonly managedAccountId: string | null;
  readonly result: Readonly<Record<string, unknown>> | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly idempotencyKey: string;
  readonly createdBy: unknown;
}

export interface EnvelopeView {
  readonly command: CommandView;
  readonly duplicate: boolean;
  readonly password?: string;
  readonly credentials?: { readonly tradingPassword: string; readonly investorPassword: string };
}

export interface AccountView {
  readonly statusReason: string | null;
  readonly id: string;
  readonly accountNumber: string;
  readonly accountName: string;
  readonly status: string;
  readonly balance: number;
  readonly equity: number;
  readonly openPositionCount: number;
}

/** Less than the time limit of a test, so that the error of a late command names the command. */
const COMMAND_DEADLINE_MS = 45_000;
const POLL_INTERVAL_MS = 20;
/** Maximum number of retries of a request after responses 500 with Retry-After. */
const RETRIES = 10;
const FINAL = new Set(["succeeded", "failed", "expired"]);

/** Repeats a request after each response 500 with Retry-After, at most {@link RETRIES} times. */
export async function repeated<T>(send: () => Promise<Answer<T>>): Promise<Answer<T>> {
  for (let retries = 0; ; retries += 1) {
    const answer = await send();
    const retryAfterS = answer.status === 500 ? answer.headers.get("retry-after") : null;
    if (retryAfterS === null || retries === RETRIES) return answer;
    await pause(Number(retryAfterS) * 1000);
  }
}

/** A backend with one management key. */
export class OutsideClient {
  readonly demo: Demo;

  constructor(demo: Demo) {
    this.demo = demo;
  }

  /** The same backend with another key. */
  withKey(managementKey: string): OutsideClient {
    return new OutsideClient({ ...this.demo, managementKey });
  }

  async call<T>(
    method: string,
    path: string,
    options: { body?: unknown; idempotencyKey?: string; authorization?: string | null } = {},
  ): Promise<Answer<T>> {
    const headers: Record<string, string> = {};
    const authorization =
      options.authorization === undefined ? `Management ${this.demo.managementKey}` : options.authorization;
    if (authorization !== null) headers["authorization"] = authorization;
    if (options.body !== undefined) headers["content-type"] = "application/json";
    if (options.idempotencyKey !== undefined) headers["idempotency-key"] = options.idempotencyKey;
    const response = await fetch(`${this.demo.baseUrl}/api/v1/management${path}`, {
      method,
      headers,
      body: options.body === undefined ? null : JSON.stringify(options.body),
      signal: AbortSignal.timeout(30_000),
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as T };
  }

  /** Path below the demo's server. */
  server(path: string): string {
    return `/servers/${this.demo.serverId}${path}`;
  }

  createAccount(body: object, idempotencyKey: string = randomUUID()): Promise<Answer<EnvelopeView>> {
    return this.call("POST", this.server("/accounts"), { body, idempotencyKey });
  }

  deposit(accountNumber: string, body: object, idempotencyKey: string = randomUUID()): Promise<Answer<EnvelopeView>> {
    return this.call("POST", this.server(`/accounts/${accountNumber}/finance/deposits`), { body, idempotencyKey });
  }

  withdraw(accountNumber: string, body: object, idempotencyKey: string = randomUUID()): Promise<Answer<EnvelopeView>> {
    return this.call("POST", this.server(`/accounts/${accountNumber}/finance/withdrawals`), { body, idempotencyKey });
  }

  /**
   * Sends any mutation. If an equal request was accepted with this idempotency key, the answer has
   * the command of that request.
   */
  send(method: string, path: string, body: object, idempotencyKey: string): Promise<Answer<EnvelopeView>> {
    return this.call(method, this.server(path), { body, idempotencyKey });
  }

  /**
   * Queues a mutation. Repeats the request with the same key after a 500 with Retry-After. Such a
   * 500 means, for example, that a service is busy or does not know a new server yet. Returns the
   * last answer: 202, 200 if an equal request was accepted before, or an error.
   */
  queue(method: string, path: string, body: object, key: string = randomUUID()): Promise<Answer<EnvelopeView>> {
    return repeated(() => this.send(method, path, body, key));
  }

  async account(accountNumber: string): Promise<AccountView> {
    const path = this.server(`/accounts/${accountNumber}`);
    const answer = await repeated(() => this.call<{ account: AccountView }>("GET", path));
    if (answer.status !== 200) throw new Error(`the request for account details was answered ${answer.status}`);
    return answer.body.account;
  }

  /** Polls the command until it is final. */
  async finished(commandId: string): Promise<CommandView> {
    const deadline = Date.now() + COMMAND_DEADLINE_MS;
    for (;;) {
      const { status, body } = await this.call<{ command: CommandView }>("GET", `/commands/${commandId}`);
      if (status === 200 && FINAL.has(body.command.status)) return body.command;
      if (Date.now() > deadline) throw new Error(`command ${commandId} is not final: ${JSON.stringify(body)}`);
      await pause(POLL_INTERVAL_MS);
    }
  }

  /**
   * Waits at the gateway (`?wait=`) until the command has succeeded. Throws if the command fails,
   * expires or is late, or if a request is not answered 200.
   */
  async succeeded(commandId: string): Promise<CommandView> {
    const deadline = Date.now() + COMMAND_DEADLINE_MS;
    for (;;) {
      const { status, body } = await this.call<{ command: CommandView }>("GET", `/commands/${commandId}?wait=20`);
      if (status === 200 && body.command.status === "succeeded") return body.command;
      if (status !== 200 || FINAL.has(body.command.status) || Date.now() > deadline) {
        throw new Error(`command ${commandId} has not succeeded: ${status} ${JSON.stringify(body)}`);
      }
    }
  }

  /**
   * Creates an account, and waits until the account exists. Returns the account number. Throws if
   * the creation fails.
   */
  async openAccount(initialBalance = 1000, leverage = 100): Promise<string> {
    const body = { accountName: "Outside client", initialBalance, leverage, requestId: randomUUID() };
    const created = await this.queue("POST", "/accounts", body);
    if (created.status > 202)
      throw new Error(`the creation was answered ${created.status} ${JSON.stringify(created.body)}`);
    const command = await this.finished(created.body.command.id);
    if (command.status !== "succeeded") throw new Error(`the creation ended ${JSON.stringify(command)}`);
    return String(command.result?.["accountNumber"]);
  }

  /** Opens the live stream; resolves when the socket is open. */
  async live(): Promise<LiveClient> {
    const socket = new WebSocket(`${this.demo.wsBase}/api/v1/management/live-metrics`, {
      headers: { authorization: `Management ${this.demo.managementKey}` },
    });
    const client = new LiveClient(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("error", reject);
    });
    return client;
  }
}

export interface LiveMessage {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** One socket of the live stream. It keeps every message and returns them in order. */
export class LiveClient {
  readonly #socket: WebSocket;
  readonly #messages: string[] = [];
  #wake: () => void = () => undefined;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data) => {
      this.#messages.push((data as Buffer).toString("utf8"));
      this.#wake();
    });
  }

  send(message: object | string): void {
    this.#socket.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  /** The next message as text, in order of arrival. */
  async nextText(timeoutMs = 20_000): Promise<string> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const text = this.#messages.shift();
      if (text !== undefined) return text;
      const leftMs = deadline - Date.now();
      if (leftMs <= 0) throw new Error("no message came in time");
      await Promise.race([new Promise<void>((resolve) => (this.#wake = resolve)), pause(leftMs)]);
    }
  }

  async next(timeoutMs?: number): Promise<LiveMessage> {
    return JSON.parse(await this.nextText(timeoutMs)) as LiveMessage;
  }

  /** The next `count` samples; anything else in between is an error. */
  async samples(count: number): Promise<LiveMessage[]> {
    const samples: LiveMessage[] = [];
    while (samples.length < count) {
      const message = await this.next();
      if (message.type !== "account.metrics") throw new Error(`expected a sample: ${JSON.stringify(message)}`);
      samples.push(message);
    }
    return samples;
  }

  /** Resolves with the close code when the socket is closed. */
  closed(): Promise<number> {
    return new Promise((resolve) => this.#socket.once("close", resolve));
  }

  close(): void {
    this.#socket.terminate();
  }
}

/** Resolves after `ms`, for example between two polls of the public interface. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
