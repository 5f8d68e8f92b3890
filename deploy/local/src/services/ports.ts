import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { z } from "zod";

import { freePort, isFree, LocalError } from "@kapi/servers";

const PORTS_FILE = "ports.json";
const KeptPorts = z.record(z.string(), z.int().min(1).max(65_535));

/** Requested or preferred ports, by the names of {@link Ports}. */
export type AskedPorts = Readonly<Record<string, number | undefined>>;

/**
 * Ports by name. The name of a process, such as `gateway` or `gateway-2`, is the name of its main
 * port. Further ports are "live" and "live-2" (live stream), "console-page", "gateway-internal" and
 * "gateway-2-internal". No two names have the same port.
 */
export interface Ports {
  of(name: string): number;
}

/**
 * Chooses a port for every name. A requested port must be free. Without a request the first free
 * port is used: the port of the last start, then the preferred port, then any port. The port of the
 * last start comes first because clients may have stored its address.
 */
export async function choosePorts(
  stateDir: string,
  names: readonly string[],
  asked: AskedPorts,
  preferred: AskedPorts,
): Promise<Ports> {
  const kept = readKept(stateDir);
  const chosen = new Map<string, number>();
  // Requested ports first: otherwise a name that had such a port at the last start could take it.
  const byRequest = Object.groupBy(names, (name) => (asked[name] === undefined ? "free" : "requested"));
  for (const name of [...(byRequest.requested ?? []), ...(byRequest.free ?? [])])
    chosen.set(name, await choose(name, asked[name], [kept[name], preferred[name]], chosen));
  writeFileSync(path.join(stateDir, PORTS_FILE), `${JSON.stringify(Object.fromEntries(chosen), null, 2)}\n`);
  return portsFrom(chosen);
}

/** The ports of the stack that runs in `stateDir`. */
export function keptPorts(stateDir: string): Ports {
  return portsFrom(new Map(Object.entries(readKept(stateDir))));
}

function readKept(stateDir: string): z.infer<typeof KeptPorts> {
  const file = path.join(stateDir, PORTS_FILE);
  return existsSync(file) ? KeptPorts.parse(JSON.parse(readFileSync(file, "utf8"))) : {};
}

function portsFrom(ports: ReadonlyMap<string, number>): Ports {
  return {
    of: (name) => {
      const port = ports.get(name);
      if (port === undefined) throw new LocalError(`There is no port "${name}".`);
      return port;
    },
  };
}

async function choose(
  name: string,
  asked: number | undefined,
  candidates: readonly (number | undefined)[],
  chosen: ReadonlyMap<string, number>,
): Promise<number> {
  const taken = new Set(chosen.values());
  if (asked !== undefined) {
    if (taken.has(asked) || !(await isFree(asked))) {
      throw new LocalError(`Port ${asked}, the requested port of ${name}, is in use. Request a free port.`);
    }
    return asked;
  }
  for (const port of candidates) {
    if (port !== undefined && !taken.has(port) && (await isFree(port))) return port;
  }
  for (;;) {
    const port = await freePort();
    if (!taken.has(port)) return port;
  }
}
