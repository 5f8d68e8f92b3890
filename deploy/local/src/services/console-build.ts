/**
 * Builds the console's web page if it is missing or older than its sources. The console service
 * serves the built files. Two builds at the same time are safe: file names contain a hash of the
 * content, and the page that names the files is moved last.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import path from "node:path";

import { type Report, runOrThrow } from "@kapi/servers";
import { serviceFolder } from "./plan.ts";

const ROOT = path.resolve(import.meta.dirname, "../../../..");
const CONSOLE = path.join(serviceFolder("console"), "page");
const VITE = path.join(ROOT, "node_modules", "vite", "bin", "vite.js");
/** On the same disk as {@link CONSOLE_FOLDER}: a rename cannot move a file to another disk. */
const UNFINISHED_BUILDS = path.join(ROOT, ".local");
const PAGE = "index.html";
const ASSETS = "assets";
/** Folders in the console's folder that contain no sources. */
const NO_SOURCES = new Set(["dist", "node_modules"]);
/** A build takes a few seconds, but much longer on a busy machine. */
const BUILD_TIMEOUT_MS = 180_000;

/** The folder of the built console. */
export const CONSOLE_FOLDER = path.join(CONSOLE, "dist");

/** Builds the console into {@link CONSOLE_FOLDER}, unless its page is newer than every source. */
export async function buildConsole(report: Report): Promise<void> {
  const beganMs = Date.now();
  if (isFresh()) return;
  report.note("console: building its page");
  // Not built in CONSOLE_FOLDER: a console service that starts now would serve unfinished files.
  mkdirSync(UNFINISHED_BUILDS, { recursive: true });
  const built = mkdtempSync(path.join(UNFINISHED_BUILDS, "console-build-"));
  try {
    const args = [VITE, "build", "--logLevel", "error", "--outDir", built, "--emptyOutDir"];
    // Tests set NODE_ENV, but every build is a production build.
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
 * Moves a build into {@link CONSOLE_FOLDER}. The order matters: first the files that the page
 * names, then the page, then the removal of files that the page does not name.
 */
function publish(built: string, beganMs: number): void {
  const from = path.join(built, ASSETS);
  const to = path.join(CONSOLE_FOLDER, ASSETS);
  mkdirSync(to, { recursive: true });
  const named = new Set(readdirSync(from));
  for (const name of named) renameSync(path.join(from, name), path.join(to, name));
  const page = path.join(built, PAGE);
  // The page gets the time when the build began: sources that changed since then are newer.
  const beganS = beganMs / 1000;
  utimesSync(page, beganS, beganS);
  renameSync(page, path.join(CONSOLE_FOLDER, PAGE));
  for (const name of readdirSync(to)) if (!named.has(name)) rmSync(path.join(to, name), { force: true });
}
