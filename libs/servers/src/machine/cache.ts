import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";

/**
 * The user's folder of downloaded files, so that a second clone starts fast. `KAPI_CACHE_DIR`
 * changes the folder.
 */
export function cacheFolder(env: Readonly<Record<string, string | undefined>>): string {
  if (env["KAPI_CACHE_DIR"] !== undefined) return path.resolve(env["KAPI_CACHE_DIR"]);
  return path.join(env["XDG_CACHE_HOME"] ?? path.join(homedir(), ".cache"), "kapi");
}

/**
 * Returns the folder `name` of the cache. If the folder is missing, `fill` creates its content. The
 * folder appears only when it is complete, also if two processes fill it at the same time.
 */
export async function cached(cache: string, name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const folder = path.join(cache, name);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const filling = mkdtempSync(path.join(cache, `${name}.filling-`));
  try {
    await fill(filling);
    renameSync(filling, folder);
  } catch (error) {
    // Another process has filled the folder meanwhile.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(filling, { recursive: true, force: true });
  }
  return folder;
}
