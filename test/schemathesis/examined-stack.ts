/**
 * Starts a whole kapi for a tool of another project. The tool reads kapi's OpenAPI document and
 * calls kapi.
 */
import { rmSync } from "node:fs";
import path from "node:path";

import { randomBase32 } from "@kapi/kernel";
import { createDemo, type Demo, type Stack, startStack } from "@kapi/local";
import { deleteTopics, dropDatabase, printedReport, stopRecorded } from "@kapi/servers";

/** The folder `.local` of the checkout. Git ignores this folder. */
export const LOCAL = path.resolve(import.meta.dirname, "../../.local");
const CREDITS = 100_000_000;
const NAME_CHARACTERS = 10;

/** The folder of a check's stack. `stop` of the stack removes the folder. */
export function examinedStateDir(check: string): string {
  return path.join(LOCAL, check);
}

/** A running kapi with a demo organization. `stop` stops kapi and removes its data. */
export interface ExaminedStack {
  readonly demo: Demo;
  readonly stop: () => Promise<void>;
}

/** Starts a kapi for `check`. First stops the stack that an earlier run of `check` left, if any. */
export async function startExamined(check: string): Promise<ExaminedStack> {
  const stateDir = examinedStateDir(check);
  await stopRecorded(stateDir);
  rmSync(stateDir, { recursive: true, force: true });
  const name = `${check}${randomBase32(NAME_CHARACTERS)}`;
  const stack = await startStack({
    stateDir,
    database: name,
    topicPrefix: `${name}.`,
    report: printedReport(),
    env: { all: { LOG_LEVEL: "info" } },
  });
  const stop = async (): Promise<void> => {
    await forget(stack);
    rmSync(stateDir, { recursive: true, force: true });
  };
  try {
    return { demo: await createDemo(stack, { credits: CREDITS, autoTraders: 0 }), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function forget(stack: Stack): Promise<void> {
  const { postgresUrl, kafkaBrokers } = stack.servers;
  const given = process.env["POSTGRES_URL"] !== undefined;
  for (const process of stack.processes.values()) await process.stop();
  if (given) {
    const database = new URL(postgresUrl).pathname.slice(1);
    await dropDatabase(process.env["POSTGRES_URL"] ?? postgresUrl, database);
  }
  if (process.env["KAFKA_BROKERS"] !== undefined) await deleteTopics(kafkaBrokers, stack.topicPrefix);
  await stack.stop();
}
