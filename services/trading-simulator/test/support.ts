import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";

import { TOPICS, TradingEvent, Valuation } from "@kapi/contracts";
import { createKafka, startLogReader, type KafkaConnection } from "@kapi/kafka";
import { createLogger } from "@kapi/runtime";
import { freePort } from "@kapi/servers";
import { DEMO_LEVERAGES, eventually, type TestEnvironment } from "@kapi/testkit";
import { type Change, startTradingServerClient, type TradingServerClient } from "@kapi/trading-server";

const MAIN = new URL("../src/main.ts", import.meta.url).pathname;
const READY_TIMEOUT_MS = 20_000;
const CALL_TIMEOUT_MS = 10_000;

/** A trading server as a separate process, and the ways to call it. */
export interface Running {
  readonly url: string;
  readonly client: TradingServerClient;
  /** Calls the control API; returns status and body. */
  control(method: string, path: string, body?: unknown): Promise<{ status: number; body: Record<string, unknown> }>;
  /** Resolves when the process has ended, with the signal that ended it. */
  readonly ended: Promise<NodeJS.Signals | null>;
  kill(signal: NodeJS.Signals): Promise<void>;
}

/** Starts the service in `environment` and waits until it is ready. `env` replaces variables. */
export async function startTradingServer(
  environment: TestEnvironment,
  env: Readonly<Record<string, string>> = {},
): Promise<Running> {
  const port = await freePort();
  const child = spawn(process.execPath, [MAIN], {
    env: { ...environment.env, HTTP_PORT: String(port), TICK_INTERVAL_MS: "0", SNAPSHOT_INTERVAL_MS: "500", ...env },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(child, "exit").then(([, signal]) => signal as NodeJS.Signals | null);
  const url = `http://127.0.0.1:${port}`;
  await eventually(async () => (await fetch(`${url}/readyz`)).ok, { timeoutMs: READY_TIMEOUT_MS });
  const { value: client, stop } = startTradingServerClient({
    addressOf: () => ({ url: url, token: environment.secrets.tradingServerToken }),
    timeoutMs: CALL_TIMEOUT_MS,
  });
  return {
    url,
    client,
    ended,
    control: async (method, path, body) => {
      const answer = await fetch(`${url}/control/v1${path}`, {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
      });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    },
    kill: async (signal) => {
      child.kill(signal);
      await ended;
      await stop();
    },
  };
}

/** Configures a server with the demo leverages; returns its id. */
export async function configuredServer({ client }: Running): Promise<string> {
  const serverId = randomUUID();
  await client.configure(serverId, {
    serverName: "Test",
    companyName: "Test",
    currency: "USD",
    environment: "demo",
    supportedLeverage: [...DEMO_LEVERAGES],
    defaultLeverage: 100,
  });
  return serverId;
}

/** A creation of `accountNumber`. */
export function creation(accountNumber: string, initialBalanceMinor: number = 0): Change {
  return {
    reference: randomUUID(),
    accountNumber,
    type: "create",
    accountName: "Test",
    leverage: 100,
    currency: "USD",
    initialBalanceMinor,
    tradingPassword: "trading password",
    investorPassword: "investor password",
  };
}

/** A deposit of `amountMinor`. */
export function deposit(accountNumber: string, amountMinor: number, reference: string = randomUUID()): Change {
  return { reference, accountNumber, type: "balance", kind: "deposit", amountMinor, description: null };
}

/** The records of `trading.events` and `trading.valuations`, in order of arrival. */
export interface Topics {
  readonly events: readonly TradingEvent[];
  readonly valuations: readonly Valuation[];
  stop(): Promise<void>;
}

/**
 * Follows `trading.events` and `trading.valuations` from their beginning; each record is checked
 * against its contract.
 */
export async function followTopics(environment: TestEnvironment): Promise<Topics> {
  const logger = createLogger({ service: "test", level: "error" });
  const kafka: KafkaConnection = createKafka({
    brokers: environment.kafkaBrokers.split(","),
    clientId: "test",
    topicPrefix: environment.topicPrefix,
    logger,
  });
  const fatal = (error: unknown): void => {
    throw error instanceof Error ? error : new Error(String(error));
  };
  const events: TradingEvent[] = [];
  const valuations: Valuation[] = [];
  const readers = await Promise.all([
    startLogReader(kafka, {
      topic: TOPICS.tradingEvents,
      from: "beginning",
      onBatch: (_partition, messages) => {
        for (const message of messages) events.push(TradingEvent.parse(JSON.parse(message.value.toString())));
      },
      logger,
      fatal,
    }),
    startLogReader(kafka, {
      topic: TOPICS.tradingValuations,
      from: "beginning",
      onBatch: (_partition, messages) => {
        for (const message of messages) valuations.push(Valuation.parse(JSON.parse(message.value.toString())));
      },
      logger,
      fatal,
    }),
  ]);
  return {
    events,
    valuations,
    stop: async () => {
      await Promise.all(readers.map((reader) => reader.stop()));
    },
  };
}

/** A recording of `quotes` EURUSD quotes, one a second, each with a different bid. */
export function anyRecording(quotes: number): { csv: string; bids: number[] } {
  const bids = Array.from({ length: quotes }, (_, index) => Number((1.1 + index / 10_000).toFixed(5)));
  const lines = bids.map(
    (bid, index) => `${new Date(index * 1_000).toISOString()},${bid},${(bid + 0.0001).toFixed(5)}`,
  );
  return { csv: ["time,bid,ask", ...lines, ""].join("\n"), bids };
}
