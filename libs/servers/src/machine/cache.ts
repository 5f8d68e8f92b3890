import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";

/**
 * What was fetched once for this user, so that a second clone is up fast. `KAPI_CACHE_DIR` puts it
 * elsewhere.
 */
export function cacheFolder(env: Readonly<Record<string, string | undefined>>): string {
  if (env["KAPI_CACHE_DIR"] !== undefined) return path.resolve(env["KAPI_CACHE_DIR"]);
  return path.join(env["XDG_CACHE_HOME"] ?? path.join(homedir(), ".cache"), "kapi");
}

/**
 * The folder `name` of the cache, filled by `fill` where it is not there yet. It appears whole or
 * not at all, also when two fill it at once.
 */
export async function cached(cache: string, name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const folder = path.join(cache, name);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const filling = mkdtempSync(path.join(cache, `${name}.filling-`));
  try {
    await fill(filling);
    if (!existsSync(folder)) renameSync(filling, folder);
  } finally {
    rmSync(filling, { recursive: true, force: true });
  }
  return folder;
}
