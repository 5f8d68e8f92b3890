import fs, { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";

import type { Client } from "pg";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { copyAsStandby } from "./base-backup.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "kapi-backup-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  rmSync(folder, { recursive: true, force: true });
});

it("a file or a folder that the server deletes during the copy is left out", async () => {
  const [from, to] = [path.join(folder, "from"), path.join(folder, "to")];
  for (const database of ["1", "2", "3"]) mkdirSync(path.join(from, "base", database), { recursive: true });
  for (const file of ["base/1/a", "base/2/b", "base/3/c", "base/3/d"]) writeFileSync(path.join(from, file), file);
  const list = fs.readdirSync;
  vi.spyOn(fs, "readdirSync").mockImplementation((...args: Parameters<typeof list>) => {
    const entries = list(...args);
    if (path.basename(String(args[0])) === "base") rmSync(path.join(from, "base/2"), { recursive: true });
    if (path.basename(String(args[0])) === "3") rmSync(path.join(from, "base/3/c"));
    return entries;
  });
  syncBuiltinESMExports();
  const client = { query: () => Promise.resolve({ rows: [{ labelfile: "label" }] }) } as unknown as Client;
  await copyAsStandby(client, from, to);
  expect(readFileSync(path.join(to, "base/1/a"), "utf8")).toBe("base/1/a");
  expect(readFileSync(path.join(to, "base/3/d"), "utf8")).toBe("base/3/d");
  expect(["base/2/b", "base/3/c"].map((file) => existsSync(path.join(to, file)))).toEqual([false, false]);
  expect(readFileSync(path.join(to, "backup_label"), "utf8")).toBe("label");
});
