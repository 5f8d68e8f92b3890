/**
 * Makes a base backup of a running PostgreSQL with the low-level SQL functions, because the npm
 * package of PostgreSQL has no pg_basebackup and no pg_rewind.
 */
import { chmodSync, copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

import type { Client } from "pg";

import { giveToServer } from "../postgres.ts";

/** These folders are created empty in the copy. */
const EMPTY_FOLDERS = new Set([
  "pg_wal",
  "pg_replslot",
  "pg_dynshmem",
  "pg_notify",
  "pg_serial",
  "pg_snapshots",
  "pg_stat_tmp",
  "pg_subtrans",
]);
/** These files belong to the running server, and are not copied. */
const OWN_FILES = new Set(["postmaster.pid", "postmaster.opts", "standby.signal", "backup_label"]);

/**
 * Copies the data folder `from` of a running server to the folder `to`. `client` is connected to
 * this server. The copy is the data of a standby that is not started yet. Replaces the folder `to`.
 */
export async function copyAsStandby(client: Client, from: string, to: string): Promise<void> {
  rmSync(to, { recursive: true, force: true });
  await client.query("select pg_backup_start('standby', true)");
  copyFolder(from, to, true);
  const { rows } = await client.query<{ labelfile: string }>("select labelfile from pg_backup_stop(false)");
  for (const [name, text] of [
    ["backup_label", rows[0]?.labelfile ?? ""],
    ["standby.signal", ""],
    // Empty, because the primary's settings for synchronous commits are not for the standby.
    ["postgresql.auto.conf", ""],
  ] as const) {
    writeFileSync(path.join(to, name), text, { mode: 0o600 });
    giveToServer(path.join(to, name));
  }
}

function copyFolder(from: string, to: string, isTop: boolean): void {
  mkdirSync(to);
  chmodSync(to, 0o700);
  giveToServer(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) {
      if (isTop && EMPTY_FOLDERS.has(entry.name)) emptyFolder(target);
      else unlessDeleted(() => copyFolder(source, target, false));
    } else if (!(isTop && OWN_FILES.has(entry.name))) unlessDeleted(() => copyFile(source, target));
  }
}

function emptyFolder(folder: string): void {
  for (const created of folder.endsWith("pg_wal") ? [folder, path.join(folder, "archive_status")] : [folder]) {
    mkdirSync(created);
    chmodSync(created, 0o700);
    giveToServer(created);
  }
}

function copyFile(source: string, target: string): void {
  copyFileSync(source, target);
  giveToServer(target);
}

/**
 * Runs `copy`. Ignores that its file or folder was deleted: the replay of the WAL deletes it too.
 */
function unlessDeleted(copy: () => void): void {
  try {
    copy();
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ENOENT") throw error;
  }
}
