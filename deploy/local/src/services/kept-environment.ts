/**
 * Lets other programs use a running stack. The stack writes the addresses of its servers to a file
 * when it starts and removes the file when it stops. The environment of a service is made from
 * these addresses and from the kept ports and secrets.
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
 * Writes the addresses of the stack that runs in `stateDir`. Only the owner can read the file,
 * because it contains a password.
 */
export function keepAddresses(stateDir: string, addresses: Addresses): void {
  writePrivately(path.join(stateDir, ADDRESSES_FILE), addresses);
}

/** Removes the file of `keepAddresses`, which a killed process leaves behind. */
export function forgetAddresses(stateDir: string): void {
  rmSync(path.join(stateDir, ADDRESSES_FILE), { force: true });
}

/**
 * The environment of a service of the stack that runs in `stateDir`. `base` has the environment
 * variables of this process. Throws LocalError if no stack runs there, or if the stack is starting
 * and has not chosen its ports yet.
 */
export function keptEnvironment(stateDir: string, service: string, base: Environment): Environment {
  return serviceEnvironment(service, keptPlan(stateDir, base));
}

/**
 * The environment of a program that is not a service, for example the operator's command line. It
 * contains only secrets and addresses. Throws LocalError like {@link keptEnvironment}.
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
