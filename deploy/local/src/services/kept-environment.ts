/**
 * What lets a program of its own work beside a running stack: the addresses of its servers, written
 * when it starts and removed when it stops; with the kept ports and secrets they make the
 * environment of any service.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";

import { z } from "zod";

import { isRunning, keptSecrets, LocalError, writePrivately } from "@kapi/servers";
import { type Environment, type PlanOptions, programEnvironment, serviceEnvironment } from "./plan.ts";
import { keptPorts } from "./ports.ts";

const ADDRESSES_FILE = "addresses.json";

const Addresses = z.object({
  servers: z.object({
    kafkaBrokers: z.string(),
    postgresUrl: z.string(),
    redisUrl: z.string(),
    redisCluster: z.boolean().default(false),
  }),
  topicPrefix: z.string(),
});
export type Addresses = z.input<typeof Addresses>;

/**
 * Keeps the addresses of the stack that now runs in `stateDir`; they hold a password. Returns what
 * removes them.
 */
export function keepAddresses(stateDir: string, addresses: Addresses): () => void {
  const file = path.join(stateDir, ADDRESSES_FILE);
  writePrivately(file, addresses);
  return () => rmSync(file, { force: true });
}

/**
 * The environment of a service of the stack that runs in `stateDir`; `base` is that of this
 * machine. Throws LocalError where none runs there, or one that is not that far yet.
 */
export function keptEnvironment(stateDir: string, service: string, base: Environment): Environment {
  return serviceEnvironment(service, keptPlan(stateDir, base));
}

/**
 * The same of a program that is no service, as the operator's command line: secrets and addresses
 * alone.
 */
export function keptProgramEnvironment(stateDir: string, program: string): Environment {
  return programEnvironment(program, keptPlan(stateDir, {}));
}

function keptPlan(stateDir: string, base: Environment): PlanOptions {
  const file = path.join(stateDir, ADDRESSES_FILE);
  if (!isRunning(stateDir) || !existsSync(file)) throw new LocalError(`No kapi runs in ${stateDir}.`);
  const { servers, topicPrefix } = Addresses.parse(JSON.parse(readFileSync(file, "utf8")));
  return { servers, topicPrefix, secrets: keptSecrets(stateDir), ports: keptPorts(stateDir), base };
}
