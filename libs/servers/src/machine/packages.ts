import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { findCommand, isRoot, run, runOrThrow } from "./command.ts";

const UPDATE_TIMEOUT_MS = 120_000;
const INSTALL_TIMEOUT_MS = 240_000;
const QUERY_TIMEOUT_MS = 30_000;
/** Another installation may hold apt's lock. */
const WAIT_FOR_LOCK = ["-o", "DPkg::Lock::Timeout=120"];
const APT_ENV = { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" };

/** Installs Debian packages. Calls run one after another, because apt holds a lock. */
export class DebianPackages {
  #last: Promise<unknown> = Promise.resolve();
  #updated = false;

  /** Whether this machine has apt. */
  get available(): boolean {
    return findCommand("apt-get") !== null && findCommand("dpkg") !== null;
  }

  /** Whether packages can be installed for the whole machine. */
  get canInstall(): boolean {
    return this.available && isRoot();
  }

  /** Installs the first of `names` that exists. Needs root. */
  install(...names: readonly string[]): Promise<void> {
    return this.#inTurn(async () => {
      await this.#update();
      const name = await this.#firstKnown(names);
      const args = ["install", "-y", "-q", "--no-install-recommends", ...WAIT_FOR_LOCK, name];
      await runOrThrow("apt-get", args, { timeoutMs: INSTALL_TIMEOUT_MS, env: APT_ENV });
    });
  }

  /**
   * Unpacks the packages `names` and their missing dependencies into `folder`. Installs nothing, so
   * root is not necessary and no system service starts.
   */
  unpack(names: readonly string[], folder: string): Promise<void> {
    return this.#inTurn(async () => {
      if (isRoot()) await this.#update();
      const wanted = await this.#missingOf(names);
      const downloads = mkdtempSync(path.join(tmpdir(), "kapi-packages-"));
      try {
        await runOrThrow("apt-get", ["download", "-q", ...wanted], {
          timeoutMs: INSTALL_TIMEOUT_MS,
          cwd: downloads,
          env: APT_ENV,
        });
        mkdirSync(folder, { recursive: true });
        for (const file of readdirSync(downloads)) {
          await runOrThrow("dpkg", ["-x", path.join(downloads, file), folder], { timeoutMs: QUERY_TIMEOUT_MS });
        }
      } finally {
        rmSync(downloads, { recursive: true, force: true });
      }
    });
  }

  async #update(): Promise<void> {
    if (this.#updated) return;
    await runOrThrow("apt-get", ["update", "-q", ...WAIT_FOR_LOCK], { timeoutMs: UPDATE_TIMEOUT_MS, env: APT_ENV });
    this.#updated = true;
  }

  async #firstKnown(names: readonly string[]): Promise<string> {
    for (const name of names) {
      const { output } = await run("apt-cache", ["policy", name], { timeoutMs: QUERY_TIMEOUT_MS, env: APT_ENV });
      if (/Candidate: (?!\(none\))/.test(output)) return name;
    }
    return names.at(-1) ?? "";
  }

  async #missingOf(names: readonly string[]): Promise<string[]> {
    const omitted = ["recommends", "suggests", "conflicts", "breaks", "replaces", "enhances"].map(
      (kind) => `--no-${kind}`,
    );
    const args = ["depends", "--recurse", ...omitted, ...names];
    const output = await runOrThrow("apt-cache", args, { timeoutMs: QUERY_TIMEOUT_MS, env: APT_ENV });
    const all = new Set(output.split("\n").filter((line) => /^[a-z0-9]/.test(line)));
    const installed = await run("dpkg-query", ["-W", "-f", "${Package} ${db:Status-Status}\n"], {
      timeoutMs: QUERY_TIMEOUT_MS,
      env: APT_ENV,
    });
    for (const line of installed.output.split("\n")) {
      const [name, status] = line.split(" ");
      if (name !== undefined && status === "installed" && !names.includes(name)) all.delete(name);
    }
    return [...all];
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work, work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
