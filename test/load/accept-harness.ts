/**
 * A whole kapi with accounts for the benchmarks `accept`, `curve` and `storage`, and the requests
 * that they send.
 */
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

import { type Demo, createDemo, type Stack, type StackOptions, startStack } from "@kapi/local";
import { printedReport, stopRecorded } from "@kapi/servers";
import { type Dispatcher, Pool } from "undici";

/** Number of concurrent calls. */
export const CONCURRENCY = 64;
/** Number of accounts that deposits go to. */
export const ACCOUNTS = 256;
/** Each deposit is one cent, so the balance stays far below its limit. */
const INITIAL_BALANCE = 1_000;
const CREDITS = 1_000_000_000;
/**
 * A request that returns 500 is retried with the same key, as callers must do. A disk that stalls
 * for a second then does not end a benchmark.
 */
const MAX_TRIES = 5;
const RETRY_AFTER_MS = 1_000;

/** The running servers and services of one benchmark, and what its requests need. */
export interface AcceptHarness {
  readonly stack: Stack;
  readonly demo: Demo;
  readonly api: Pool;
  readonly authorization: string;
  readonly accounts: readonly string[];
  stop(): Promise<void>;
}

/**
 * Stops the processes that a killed run has left, starts empty servers and all services, and
 * creates an organization with accounts.
 */
export async function startAcceptHarness(
  stateDir: string,
  options: Pick<StackOptions, "env" | "together">,
): Promise<AcceptHarness> {
  await stopRecorded(stateDir);
  rmSync(stateDir, { recursive: true, force: true });
  const stack = await startStack({ stateDir, report: printedReport(), ...options });
  try {
    const demo = await createDemo(stack, { credits: CREDITS, autoTraders: 0 });
    const api = new Pool(demo.baseUrl, { connections: CONCURRENCY });
    const accounts = await openAccounts(demo, api);
    const stop = async (): Promise<void> => {
      await api.close();
      await stack.stop();
    };
    return { stack, demo, api, authorization: `Management ${demo.managementKey}`, accounts, stop };
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

/** Sends a POST and returns the parsed body of the response. Throws if the status is not 2xx. */
export async function post<T>(pool: Pool, path: string, headers: Record<string, string>, body: object): Promise<T> {
  const { status, text } = await send(pool, {
    method: "POST",
    path,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  if (status > 299) throw new Error(`${path} answered ${status} ${text}`);
  return JSON.parse(text) as T;
}

async function get<T>(harness: AcceptHarness, path: string): Promise<T> {
  const headers = { authorization: harness.authorization };
  const { status, text } = await send(harness.api, { method: "GET", path: `/api/v1/management${path}`, headers });
  if (status !== 200) throw new Error(`${path} answered ${status} ${text}`);
  return JSON.parse(text) as T;
}

let repeats = 0;

/** Number of repeats of requests so far. A request is repeated after a 500. */
export function repeatsSoFar(): number {
  return repeats;
}

async function send(pool: Pool, options: Dispatcher.DispatchOptions): Promise<{ status: number; text: string }> {
  for (let tries = 1; ; tries += 1) {
    const answer = await sendOnce(pool, options);
    if (answer.status !== 500 || tries === MAX_TRIES) return answer;
    repeats += 1;
    await delay(RETRY_AFTER_MS);
  }
}

/**
 * `dispatch` takes a fifth less processor time than `request`. The load generator and the measured
 * processes share the processors.
 */
function sendOnce(pool: Pool, options: Dispatcher.DispatchOptions): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    let status = 0;
    const pieces: Buffer[] = [];
    pool.dispatch(options, {
      onRequestStart: () => undefined,
      onResponseStart: (_controller, statusCode) => {
        status = statusCode;
      },
      onResponseData: (_controller, piece) => {
        pieces.push(piece);
      },
      onResponseEnd: () => resolve({ status, text: Buffer.concat(pieces).toString() }),
      onResponseError: (_controller, error) => reject(error),
    });
  });
}

/** Sends a deposit of one cent, by default to a random account. Returns the id of its command. */
export async function deposit(
  harness: AcceptHarness,
  account = harness.accounts[Math.floor(Math.random() * harness.accounts.length)] ?? "",
): Promise<string> {
  const path = `/api/v1/management/servers/${harness.demo.serverId}/accounts/${account}/finance/deposits`;
  const headers = { authorization: harness.authorization, "idempotency-key": randomUUID() };
  const { command } = await post<{ command: { id: string } }>(harness.api, path, headers, {
    amount: 0.01,
    requestId: "bench",
  });
  return command.id;
}

/** The current status of the command. */
export async function statusOf(harness: AcceptHarness, commandId: string): Promise<string> {
  return (await get<{ command: { status: string } }>(harness, `/commands/${commandId}`)).command.status;
}

/** Waits until the command has succeeded; throws if it fails or expires. */
export async function succeeded(harness: AcceptHarness, commandId: string): Promise<void> {
  for (;;) {
    const path = `/commands/${commandId}?wait=20`;
    const { status } = (await get<{ command: { status: string } }>(harness, path)).command;
    if (status === "succeeded") return;
    if (status === "failed" || status === "expired") throw new Error(`command ${commandId} ended ${status}`);
  }
}

async function openAccounts(demo: Demo, api: Pool): Promise<string[]> {
  const headers = { authorization: `Management ${demo.managementKey}` };
  const path = `/api/v1/management/servers/${demo.serverId}/accounts`;
  const ids = await Promise.all(
    Array.from({ length: ACCOUNTS }, async () => {
      const body = { accountName: "Bench", initialBalance: INITIAL_BALANCE, leverage: 100, requestId: "bench" };
      const key = { ...headers, "idempotency-key": randomUUID() };
      return (await post<{ command: { id: string } }>(api, path, key, body)).command.id;
    }),
  );
  return Promise.all(
    ids.map(async (id) => {
      for (;;) {
        const answer = await api.request({ method: "GET", path: `/api/v1/management/commands/${id}`, headers });
        const { command } = (await answer.body.json()) as {
          command: { status: string; result: { accountNumber: string } | null };
        };
        if (command.result !== null) return command.result.accountNumber;
        if (command.status !== "queued" && command.status !== "leased") throw new Error(JSON.stringify(command));
      }
    }),
  );
}
