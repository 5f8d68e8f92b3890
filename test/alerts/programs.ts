import { existsSync, mkdirSync } from "node:fs";
import path from "node:path";

import { DebianPackages, findCommand } from "@kapi/servers";

const ROOT = path.resolve(import.meta.dirname, "../..");
const TOOLS = path.join(ROOT, ".local/tools/prometheus");

/**
 * The path of a Prometheus program. It comes from PATH, otherwise from Debian's package, which is
 * unpacked below `.local`. Null if both are unavailable.
 */
export async function prometheusProgram(name: "prometheus" | "promtool"): Promise<string | null> {
  const installed = findCommand(name);
  if (installed !== null) return installed;
  const unpacked = path.join(TOOLS, "usr/bin", name);
  if (existsSync(unpacked)) return unpacked;
  const packages = new DebianPackages();
  if (!packages.available) return null;
  console.log("  · fetching Debian's prometheus; later runs use it again");
  mkdirSync(TOOLS, { recursive: true });
  try {
    await packages.unpack(["prometheus"], TOOLS);
  } catch (error) {
    console.log(`  · ${error instanceof Error ? error.message : String(error)}`);
  }
  return existsSync(unpacked) ? unpacked : null;
}
