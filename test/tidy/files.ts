import { readdirSync } from "node:fs";
import path from "node:path";

/** Folders that hold nothing of the repository's own, or what is wrong on purpose. */
const LEFT_OUT = new Set(["node_modules", "dist", "coverage", "test/tidy/fixtures"]);

/** Paths, from `root`, of the files that belong to the repository. Hidden folders are left out. */
export function filesBelow(root: string, folder = ""): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.posix.join(folder, entry.name);
    if (entry.isFile()) return [name];
    const isLeftOut = LEFT_OUT.has(entry.name) || LEFT_OUT.has(name) || entry.name.startsWith(".");
    return entry.isDirectory() && !isLeftOut ? filesBelow(root, name) : [];
  });
}
