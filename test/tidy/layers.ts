import { existsSync, readdirSync } from "node:fs";
import path from "node:path";

/** The layers that a service may have in `src`. A layer may be missing, but has a fixed name. */
const LAYERS = new Set(["domain", "operations", "inbound", "outbound"]);
/** Files that every service has in `src`. */
const REQUIRED_FILES = ["main.ts", "config.ts", "service.ts"];
/** The folders that the layers `inbound` and `outbound` may have. */
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
  for (const file of REQUIRED_FILES) {
    if (!existsSync(path.join(source, file))) faults.push(`${name}: src/${file} is missing`);
  }
  const foreign = (folder: string, allowed: ReadonlySet<string>): void => {
    for (const one of foldersOf(path.join(source, folder))) {
      if (!allowed.has(one)) faults.push(`${name}: src/${path.join(folder, one)} is not an allowed folder`);
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
