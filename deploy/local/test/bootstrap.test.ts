import { execFile } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

import { afterEach, beforeEach, expect, it } from "vitest";

const BOOTSTRAP = "deploy/local/bootstrap.mjs";
const SOURCE = path.resolve(import.meta.dirname, "../bootstrap.mjs");

let folder: string;
let checkout: string;

/** A checkout with one locked package, and an `npm` that only writes the file `npm-ran`. */
beforeEach(() => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), "kapi-bootstrap-")));
  checkout = path.join(folder, "checkout");
  for (const place of ["checkout/deploy/local", "checkout/patches", "bin", "other"])
    mkdirSync(path.join(folder, place), { recursive: true });
  copyFileSync(SOURCE, path.join(checkout, BOOTSTRAP));
  writeFileSync(path.join(checkout, "package-lock.json"), '{"packages":{"node_modules/one":{"version":"1.0.0"}}}');
  const npm = `#!/bin/sh\nmkdir -p node_modules\necho "$*" > "${folder}/npm-ran"\n`;
  writeFileSync(path.join(folder, "bin/npm"), npm, { mode: 0o755 });
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs `ensureDependencies` of the checkout; returns what it printed, and its exit code. */
async function ensureDependencies() {
  const script = `await (await import("./${BOOTSTRAP}")).ensureDependencies()`;
  const env = { ...process.env, PATH: `${folder}/bin${path.delimiter}${process.env["PATH"] ?? ""}` };
  const options = { cwd: checkout, env };
  return promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], options).then(
    ({ stdout }) => ({ code: 0, text: stdout }),
    (error: { code: number; stderr: string }) => ({ code: error.code, text: error.stderr }),
  );
}

it("`ensureDependencies` installs missing dependencies", async () => {
  expect(await ensureDependencies()).toMatchObject({ code: 0 });
  expect(existsSync(path.join(folder, "npm-ran"))).toBe(true);
});

it("`ensureDependencies` does not install into a linked node_modules, because npm ci would empty the folder of another checkout", async () => {
  symlinkSync(path.join(folder, "other"), path.join(checkout, "node_modules"));
  const ran = await ensureDependencies();
  expect(existsSync(path.join(folder, "npm-ran"))).toBe(false);
  expect(ran.code).toBe(1);
  expect(ran.text).toBe(
    `${checkout}/node_modules is a link to ${folder}/other, and its packages or their patches differ from this checkout's.\n` +
      `npm ci would empty ${folder}/other. Remove the link, and run the command again.\n`,
  );
});
