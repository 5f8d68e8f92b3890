/**
 * The bare path: a deposit through the main processes, topics and rows of kapi. It has no
 * management keys, validation, idempotency, guaranteed order of commands, leases, detection of gaps
 * or crash safety. It also has no request log, no risk service, and no rows of some tables, such as
 * `account_events`. The cost of the bare path is the cost of kapi's design. The difference between
 * kapi and the bare path is the cost of all that the bare path leaves out.
 */
import { setTimeout as delay } from "node:timers/promises";

import { TOPICS } from "@kapi/contracts";
import { startLogReader } from "@kapi/kafka";
import { Pool } from "undici";

import { ACCOUNTS, CONCURRENCY, post } from "../accept-harness.ts";
import { FinalCommands } from "../final-commands.ts";
import { startProcess } from "../process.ts";
import { bareKafka, fatal } from "./bare-process.ts";
import type { BareFinalEvent } from "./messages.ts";

/**
 * Processes that read topics and streams, and serve no requests. `finance` is started separately,
 * because it needs the address of the trading server.
 */
const READERS = ["organization", "webhooks", "account", "metrics"] as const;
/** Time for work in flight before the processes are stopped. */
const DRAIN_MS = 1_000;

/** The running processes. */
export interface BarePath {
  /** Sends a deposit and waits for its 202. Returns the id of its command. */
  readonly deposit: () => Promise<string>;
  /** Resolves when the final event of an accepted deposit was read. Call once per deposit. */
  readonly ended: (commandId: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** Starts the processes on the servers that `environment` names, with new empty tables. */
export async function startBarePath(environment: Record<string, string>): Promise<BarePath> {
  const start = <T>(name: string, more: Record<string, string> = {}) =>
    startProcess<T>(`bare-path/${name}.ts`, [], { ...environment, ...more });
  const schema = await start("schema");
  await schema.stop();
  const [commandStatus, tradingServer, ...readers] = await Promise.all([
    start<{ url: string }>("command-status"),
    start<{ url: string }>("trading-server"),
    ...READERS.map((name) => start<{ url: string }>(name)),
  ]);
  const finance = await start("finance", { TRADING_SERVER_URL: tradingServer.hello.url });
  const gateway = await start<{ url: string }>("gateway", { COMMAND_STATUS_URL: commandStatus.hello.url });
  const processes = [gateway, finance, commandStatus, tradingServer, ...readers];

  const finals = new FinalCommands();
  const { kafka, logger } = bareKafka("bench", environment);
  const reader = await startLogReader(kafka, {
    topic: TOPICS.commandEvents,
    from: "beginning",
    logger,
    fatal,
    onBatch: (_partition, messages) => {
      for (const { value } of messages) finals.ended((JSON.parse(value.toString("utf8")) as BareFinalEvent).commandId);
    },
  });
  const pool = new Pool(gateway.hello.url, { connections: CONCURRENCY });
  const deposit = async (): Promise<string> => {
    const path = `/accounts/${Math.floor(Math.random() * ACCOUNTS)}/finance/deposits`;
    const { command } = await post<{ command: { id: string } }>(pool, path, {}, { amountMinor: 1, requestId: "bench" });
    return command.id;
  };
  return {
    deposit,
    ended: (commandId) => finals.wait(commandId),
    stop: async () => {
      await delay(DRAIN_MS);
      await pool.close();
      await reader.stop();
      for (const process of processes) await process.stop();
    },
  };
}
