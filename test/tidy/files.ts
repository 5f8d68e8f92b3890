import { readdirSync } from "node:fs";
import path from "node:path";

/** Folders with generated or installed files, and the fixtures with intended faults. */
const LEFT_OUT = new Set(["node_modules", "dist", "coverage", "test/tidy/fixtures"]);

/**
 * The files of the repository below `folder`, as paths from `root`. Hidden folders and
 * {@link LEFT_OUT} are left out.
 */
export function filesBelow(root: string, folder = ""): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.posix.join(folder, entry.name);
    if (entry.isFile()) return [name];
    const isLeftOut = LEFT_OUT.has(entry.name) || LEFT_OUT.has(name) || entry.name.startsWith(".");
    return entry.isDirectory() && !isLeftOut ? filesBelow(root, name) : [];
  });
}
