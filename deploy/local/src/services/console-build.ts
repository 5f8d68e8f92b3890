/**
 * Builds the console's web page, which the console service serves as files, where it is missing or
 * older than its sources. Two builds at once do no harm: files are named after their content, and
 * the page that names them comes last.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import path from "node:path";

import { type Report, runOrThrow } from "@kapi/servers";
import { serviceFolder } from "./plan.ts";

const ROOT = path.resolve(import.meta.dirname, "../../../..");
const CONSOLE = path.join(serviceFolder("console"), "page");
const VITE = path.join(ROOT, "node_modules", "vite", "bin", "vite.js");
/** On the same disk as the checkout, and kept by nobody. */
const WORKSHOP = path.join(ROOT, ".local");
const PAGE = "index.html";
const ASSETS = "assets";
/** In the folder of the console, and no source of it. */
const NO_SOURCES = new Set(["dist", "node_modules"]);
/** A build takes some seconds; on a machine that does much else, some more. */
const BUILD_TIMEOUT_MS = 180_000;

/** Where the built console is. */
export const CONSOLE_FOLDER = path.join(CONSOLE, "dist");

/**
 * Builds the console into {@link CONSOLE_FOLDER}, unless what is there is newer than every source.
 */
export async function buildConsole(report: Report): Promise<void> {
  const beganMs = Date.now();
  if (isFresh()) return;
  report.note("console: building its page");
  // Not in the folder itself: a service that starts meanwhile reads all of that.
  mkdirSync(WORKSHOP, { recursive: true });
  const built = mkdtempSync(path.join(WORKSHOP, "console-build-"));
  try {
    const args = [VITE, "build", "--logLevel", "error", "--outDir", built, "--emptyOutDir"];
    // Tests set NODE_ENV for themselves; what is built is the same for all.
    const env = { ...process.env, NODE_ENV: "production" };
    await runOrThrow(process.execPath, args, { timeoutMs: BUILD_TIMEOUT_MS, cwd: CONSOLE, env });
    publish(built, beganMs);
  } finally {
    rmSync(built, { recursive: true, force: true });
  }
  report.done("console", beganMs);
}

function isFresh(): boolean {
  const page = path.join(CONSOLE_FOLDER, PAGE);
  if (!existsSync(page)) return false;
  const sources = [path.join(ROOT, "package-lock.json"), ...sourcesIn(CONSOLE)];
  const newestMs = Math.max(...sources.map((file) => statSync(file).mtimeMs));
  return statSync(page).mtimeMs > newestMs;
}

function sourcesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !NO_SOURCES.has(name))
    .flatMap((entry) => {
      const place = path.join(folder, entry.name);
      return entry.isDirectory() ? sourcesIn(place) : [place];
    });
}

/**
 * Puts a build in its place: what the page names first, then the page itself, and then away with
 * what it does not name.
 */
function publish(built: string, beganMs: number): void {
  const from = path.join(built, ASSETS);
  const to = path.join(CONSOLE_FOLDER, ASSETS);
  mkdirSync(to, { recursive: true });
  const named = new Set(readdirSync(from));
  for (const name of named) renameSync(path.join(from, name), path.join(to, name));
  const page = path.join(built, PAGE);
  // As old as the sources that it was made from: what was changed since is newer.
  const beganS = beganMs / 1000;
  utimesSync(page, beganS, beganS);
  renameSync(page, path.join(CONSOLE_FOLDER, PAGE));
  for (const name of readdirSync(to)) if (!named.has(name)) rmSync(path.join(to, name), { force: true });
}
