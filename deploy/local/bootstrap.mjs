/**
 * Plain JavaScript for Node 20 or later, because it runs before the dependencies are installed. It
 * installs the dependencies if they differ from package-lock.json or the folder `patches`, and
 * runs commands on the checkout's own Node 24.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import path from "node:path";

/** The folder of the checkout, its packages, and its own Node. */
export const ROOT = path.resolve(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../..");
const PACKAGES = path.join(ROOT, "node_modules");
export const NODE = path.join(PACKAGES, ".bin", "node");
/** The file with the hash of the patches with which the packages were installed. */
const PATCHED = path.join(PACKAGES, ".patches.sha256");
const QUIETLY = ["--no-audit", "--no-fund", "--loglevel=error"];
const FORWARDED_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * Installs the packages of package-lock.json with the patches of the folder `patches`, unless they
 * are installed already. Exits with 1 if the installation fails, and if `node_modules` is a link:
 * npm would empty the folder of another checkout.
 */
export async function ensureDependencies() {
  if (isInstalled()) return;
  if (lstatSync(PACKAGES, { throwIfNoEntry: false })?.isSymbolicLink()) refuseLink();
  const beganMs = Date.now();
  console.log("  · installing the dependencies (npm ci)");
  const clean = await capture("npm", ["ci", ...QUIETLY]);
  if (clean.code !== 0) {
    console.error(`${clean.output}\nThe dependencies could not be installed; npm says why above.`);
    process.exit(1);
  }
  writeFileSync(PATCHED, wantedPatches());
  console.log(`  ✓ dependencies  ${((Date.now() - beganMs) / 1000).toFixed(1)} s`);
}

function refuseLink() {
  const other = readlinkSync(PACKAGES);
  console.error(`${PACKAGES} is a link to ${other}, and its packages or their patches differ from this checkout's.`);
  console.error(`npm ci would empty ${other}. Remove the link, and run the command again.`);
  process.exit(1);
}

/**
 * Compares npm's list of installed packages with package-lock.json, and the patches with their
 * hash. npm writes its list at the end, so an interrupted installation has no list.
 */
function isInstalled() {
  const list = path.join(PACKAGES, ".package-lock.json");
  if (!existsSync(list) || !existsSync(NODE)) return false;
  if (!existsSync(PATCHED) || readFileSync(PATCHED, "utf8") !== wantedPatches()) return false;
  const installed = packagesOf(list);
  return Object.entries(packagesOf(path.join(ROOT, "package-lock.json"))).every(([place, wanted]) => {
    if (!place.includes("node_modules/")) return true;
    const found = installed[place];
    if (found === undefined) return wanted.optional === true || wanted.peer === true;
    return found.version === wanted.version && (found.link ?? false) === (wanted.link ?? false);
  });
}

/** A hash of `patches`: npm does not notice that a patch of an installed package has changed. */
function wantedPatches() {
  const hash = createHash("sha256");
  const folder = path.join(ROOT, "patches");
  for (const file of readdirSync(folder).sort()) hash.update(file).update(readFileSync(path.join(folder, file)));
  return hash.digest("hex");
}

function packagesOf(file) {
  return JSON.parse(readFileSync(file, "utf8")).packages;
}

/**
 * Runs a command in the checkout, on this process's terminal, and returns its exit code. Signals
 * are forwarded; this process then waits until the command has shut down.
 */
export function run(command, args, env = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: "inherit", env: { ...process.env, ...env } });
    const pass = (signal) => child.kill(signal);
    for (const signal of FORWARDED_SIGNALS) process.on(signal, pass);
    child.on("error", (error) => {
      console.error(`${command} could not be run: ${error.message}`);
      resolve(1);
    });
    child.on("exit", (code) => {
      for (const signal of FORWARDED_SIGNALS) process.off(signal, pass);
      resolve(code ?? 1);
    });
  });
}

/** Runs a command in the checkout and returns its exit code and what it printed. */
function capture(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    child.on("error", (error) => resolve({ code: 1, output: `${command} could not be run: ${error.message}` }));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

/**
 * Returns the environment variables with which every tool of the checkout finds the checkout's Node
 * first. All processes share Node's compile cache: with a filled cache the start of a process
 * takes one third less processor time.
 */
export function toolEnvironment() {
  return {
    PATH: `${path.dirname(NODE)}${path.delimiter}${process.env.PATH ?? ""}`,
    NODE_COMPILE_CACHE: path.join(PACKAGES, ".cache", "compile"),
  };
}
