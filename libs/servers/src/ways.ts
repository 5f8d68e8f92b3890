import { delay } from "@kapi/kernel";

import { LocalError, messageOf } from "./local-error.ts";
import { dockerAnswers } from "./machine/docker.ts";
import { lastLines, type ProcessId, isAlive } from "./machine/processes.ts";
import type { RunningServer, ServerContext, ServerKind } from "./server.ts";

const GIVEN_DEADLINE_MS = 10_000;
const POLL_MS = 50;
const LOG_LINES = 5;

/**
 * Uses the server at the address in the environment. Without an address, starts a container, or a
 * native process if no Docker engine answers or the container does not start.
 * LOCAL_SERVERS=containers starts only a container, LOCAL_SERVERS=native only a process.
 */
export async function startServer(kind: ServerKind, context: ServerContext): Promise<RunningServer> {
  const beganMs = Date.now();
  const server = await givenOrStarted(kind, context);
  context.report.done(`${kind.title} (${server.way}) on ${hostOf(server.address)}`, beganMs);
  return server;
}

/** The host and port of an address. An address of Kafka is not a URL and has no password. */
function hostOf(address: string): string {
  return address.includes("://") ? new URL(address).host : address;
}

async function givenOrStarted(kind: ServerKind, context: ServerContext): Promise<RunningServer> {
  const given = context.env[kind.variable];
  if (given !== undefined && given !== "") return givenServer(kind, given);
  const forced = context.env["LOCAL_SERVERS"];
  if (forced !== undefined && forced !== "native" && forced !== "containers") {
    throw new LocalError(`LOCAL_SERVERS is "${forced}"; set it to "native" or "containers", or leave it out.`);
  }
  if (forced === "native") return kind.native(context);
  if (await dockerAnswers(context.env)) {
    try {
      return await kind.container(context);
    } catch (error) {
      if (forced === "containers") throw error;
      context.report.note(`${kind.title}: the container did not start (${messageOf(error)}); starting a process`);
    }
  } else if (forced === "containers") {
    throw new LocalError("LOCAL_SERVERS asks for containers, but no Docker engine answers.");
  }
  return kind.native(context);
}

async function givenServer(kind: ServerKind, address: string): Promise<RunningServer> {
  if (kind.name !== "kafka" && !URL.canParse(address)) throw new LocalError(`${kind.variable} is no URL.`);
  if (!(await answersWithin(kind, address, GIVEN_DEADLINE_MS))) {
    throw new LocalError(
      `${kind.variable} is set, but no ${kind.title} answers on ${hostOf(address)}. ` +
        `Start it, or correct the host and the port in ${kind.variable}.`,
    );
  }
  return { name: kind.name, way: "given", address, stop: () => Promise.resolve() };
}

/** Waits until a server answers at `address`; false after `deadlineMs`. */
export async function answersWithin(kind: ServerKind, address: string, deadlineMs: number): Promise<boolean> {
  const end = Date.now() + deadlineMs;
  while (!(await kind.answers(address))) {
    if (Date.now() > end) return false;
    await delay(POLL_MS);
  }
  return true;
}

/**
 * Waits until the server answers. Throws with the last lines of its log if the process ends or does
 * not answer before the deadline.
 */
export async function processAnswers(
  kind: ServerKind,
  address: string,
  started: { readonly id: ProcessId; readonly logFile: string; readonly deadlineMs: number },
): Promise<void> {
  const end = Date.now() + started.deadlineMs;
  while (!(await kind.answers(address))) {
    const alive = isAlive(started.id);
    if (alive && Date.now() < end) {
      await delay(POLL_MS);
      continue;
    }
    const how = alive ? `does not answer after ${started.deadlineMs / 1000} s` : "ended while it started";
    throw new LocalError(
      `${kind.title} ${how}. The last lines of ${started.logFile}:\n${lastLines(started.logFile, LOG_LINES)}`,
    );
  }
}
