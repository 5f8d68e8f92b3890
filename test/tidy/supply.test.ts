/**
 * Packages have the exact versions of the lock file. Images of other projects have a digest, or
 * their file has a comment with the reason for a tag.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";

import { describe, expect, it } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../..");
const THIS_FILE = "test/tidy/supply.test.ts";
const UNLOCKED_INSTALL = /\bnpm["',\s[]+(?:install|i|add|update)\b(?!-)/;
const IMAGE = /^(?:FROM|\s+image:|ARG NODE_IMAGE=)\s*([\w./-]+:[\w.-]+)(@sha256:[0-9a-f]{64})?/gm;
const REASON = /\b(?:A tag, not a digest|tags, not digests):/;

interface Locked {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  /** The hash that npm checks the package against. */
  readonly integrity?: string;
  readonly link?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

const read = (file: string): string => readFileSync(path.join(ROOT, file), "utf8");

function lockedPackages(): [place: string, locked: Locked][] {
  const { packages } = JSON.parse(read("package-lock.json")) as { packages: Readonly<Record<string, Locked>> };
  return Object.entries(packages);
}

/** Whether npm installs the package in an image: Linux with glibc, on x64 or arm64. */
function isForImages({ os, cpu, libc }: Locked): boolean {
  const isOneOf = (wanted: readonly string[], given: readonly string[] | undefined): boolean =>
    given === undefined || given.some((one) => wanted.includes(one));
  return isOneOf(["linux"], os) && isOneOf(["x64", "arm64"], cpu) && isOneOf(["glibc"], libc);
}

/** Tests that install packages into a temporary folder without the lock file, as a user would. */
const LIKE_A_USER: ReadonlySet<string> = new Set([
  "libs/client/test/package.integration.test.ts",
  "test/generators/tools.ts",
]);

describe("packages", () => {
  it("are installed only from the lock file", () => {
    const files = execFileSync(
      "git",
      ["ls-files", "--", "deploy", "libs", "services", "test", "*.mjs", "*.yml", ".ci"],
      {
        cwd: ROOT,
        encoding: "utf8",
      },
    ).split("\n");
    const scripts = files.filter(
      (file) =>
        file !== THIS_FILE && !LIKE_A_USER.has(file) && /(?:Dockerfile|\.(?:mjs|ts|sh|ya?ml)|\/run)$/.test(file),
    );
    expect(scripts).toContain("deploy/docker/Dockerfile");
    expect(scripts.filter((file) => UNLOCKED_INSTALL.test(read(file)))).toEqual([]);
  });

  it("that are optional, such as those of other platforms, are all in the lock file, as `npm ci` requires", () => {
    const packages = lockedPackages();
    const places = new Set(packages.map(([place]) => place));
    const missing = packages.flatMap(([place, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !(places.has(`${place}/node_modules/${name}`) || places.has(`node_modules/${name}`)),
      ),
    );
    expect(missing).toEqual([]);
  });

  // Packages of other platforms have no hashes, because the registry that was used to make the lock
  // file did not have these packages.
  it("have a hash if an image installs them", () => {
    const installed = lockedPackages().filter(
      ([place, locked]) => place.includes("node_modules/") && locked.link !== true && isForImages(locked),
    );
    expect(installed.length).toBeGreaterThan(100);
    expect(installed.filter(([, { integrity }]) => integrity === undefined).map(([place]) => place)).toEqual([]);
  });
});

describe("foreign images", () => {
  it.each(["deploy/docker/Dockerfile", "docker-compose.yml"])(
    "in %s have a digest, or the file gives the reason",
    (file) => {
      const text = read(file);
      const images = [...text.matchAll(IMAGE)];
      expect(images.length).toBeGreaterThan(0);
      const tagged = images.filter(([, , digest]) => digest === undefined).map(([, image]) => image);
      if (!REASON.test(text)) expect(tagged).toEqual([]);
    },
  );
});
