import { existsSync, readdirSync } from "node:fs";
import path from "node:path";

/** The layers that a service may have in `src`. A layer may be missing, but has a fixed name. */
const LAYERS = new Set(["domain", "operations", "inbound", "outbound"]);
const FRONT_DOORS = ["main.ts", "config.ts", "service.ts"];
const INBOUND = new Set(["http", "kafka", "ws"]);
const OUTBOUND = new Set(["postgres", "redis", "http", "kafka", "smtp", "ws"]);

/** The faults in the layers of all services in the folder `services`, one sentence each. */
export function layerFaults(services: string): string[] {
  return foldersOf(services).flatMap((name) => serviceFaults(path.join(services, name), name));
}

function serviceFaults(service: string, name: string): string[] {
  const source = path.join(service, "src");
  const faults: string[] = [];
  if (!existsSync(path.join(service, "README.md"))) faults.push(`${name}: README.md is missing`);
  for (const door of FRONT_DOORS) {
    if (!existsSync(path.join(source, door))) faults.push(`${name}: src/${door} is missing`);
  }
  const foreign = (folder: string, allowed: ReadonlySet<string>): void => {
    for (const layer of foldersOf(path.join(source, folder))) {
      if (!allowed.has(layer)) faults.push(`${name}: src/${path.join(folder, layer)} is not a layer`);
    }
  };
  foreign("", LAYERS);
  foreign("inbound", INBOUND);
  foreign("outbound", OUTBOUND);
  return faults;
}

function foldersOf(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== "node_modules")
    .map((entry) => entry.name);
}
