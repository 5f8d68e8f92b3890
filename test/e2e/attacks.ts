/**
 * Attacks of one organization through the API, and their effect on another organization.
 */
import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";

import { type OutsideClient, pause } from "./outside-client.ts";

/** A slow reader reads some bytes at this interval. */
const TRICKLE_INTERVAL_MS = 500;
const TRICKLE_BYTES = 10;
/** Number of concurrent requests of an organization that works normally. */
const IN_FLIGHT = 4;

/** What one organization saw of the API: its requests, errors and response times. */
export interface Seen {
  /** Number of finished requests, also of those that threw an error. */
  readonly answers: number;
  /** Statuses other than 200, and thrown errors. */
  readonly errors: readonly string[];
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Prints measurements. */
export function print(what: string, measured: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`  ${what}: ${JSON.stringify(measured)}\n`);
}

/**
 * Sends requests of an organization for `durationMs`, `width` at a time. `work` sends one request
 * and returns its status.
 */
export async function seenBy(durationMs: number, work: () => Promise<number>, width = IN_FLIGHT): Promise<Seen> {
  const endMs = performance.now() + durationMs;
  const times: number[] = [];
  const errors: string[] = [];
  const worker = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const startedMs = performance.now();
      const status = await work().catch(String);
      times.push(performance.now() - startedMs);
      if (status !== 200) errors.push(String(status));
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  const sorted = times.toSorted((one, other) => one - other);
  const quantile = (part: number): number => Math.round(sorted[Math.floor(sorted.length * part)] ?? 0);
  return { answers: times.length, errors, p50Ms: quantile(0.5), p99Ms: quantile(0.99) };
}

/** Requests in flight; `leave` closes their connections. */
export interface Crowd {
  /** Number of answers so far, by status. */
  readonly statuses: ReadonlyMap<number, number>;
  leave(): Promise<void>;
}

/** Sends `count` GET requests, each over its own connection, and reads the answers slowly. */
export async function crowd(client: OutsideClient, path: string, count: number): Promise<Crowd> {
  const statuses = new Map<number, number>();
  const responses: IncomingMessage[] = [];
  const agent = new Agent({ maxSockets: Infinity });
  const headers = { authorization: `Management ${client.demo.managementKey}` };
  const requests = Array.from({ length: count }, () => {
    const request = get(`${client.demo.baseUrl}/api/v1/management${path}`, { headers, agent });
    request.on("error", () => undefined);
    request.on("response", (response) => {
      const status = response.statusCode ?? 0;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      response.on("error", () => undefined);
      responses.push(response);
    });
    return request;
  });
  await Promise.all(requests.map((request) => once(request, "finish")));
  const trickle = setInterval(() => {
    for (const response of responses) response.read(TRICKLE_BYTES);
  }, TRICKLE_INTERVAL_MS);
  return {
    statuses,
    leave: async () => {
      clearInterval(trickle);
      for (const request of requests) request.destroy();
      agent.destroy();
      await pause(TRICKLE_INTERVAL_MS);
    },
  };
}
