import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

import { filesBelow } from "./files.ts";

const CODE = /\.(?:ts|tsx|js|mjs|sh)$/;
/** A path in a document: `libs/kernel/src/money.ts`, or `src/config.ts` beside a README. */
const NAMED = /`(?<named>(?:libs|services|deploy|docs|test|src)\/[^`\s]*)`/g;
/** Of a path with one of these only a part is a name. */
const PATTERN = /[<>*{}$…]/;
/** A text that leads upwards: `"../../migrations"`. */
const UPWARDS = /["'`](?<up>(?:\.\.\/)+[^"'`\s]*|(?:\.\.\/)*\.\.)["'`]/g;
/** The same from the root of the checkout, which then lies outside. */
const FROM_ROOT = /\bROOT,\s*["'`](?<up>\.\.[^"'`]*)["'`]/g;
/** A folder of somebody's own on one machine. */
const OF_ONE_MACHINE = /["'`](?<place>\/(?:home|root|mnt|Users)\/[^"'`\s]*)["'`]/g;

/**
 * Paths in backticks in Markdown below `root` that lead neither from there nor from the document's
 * folder to anything.
 */
export function namedPathFaults(root: string): string[] {
  return matchesBelow(root, /\.md$/, NAMED)
    .filter(([, named]) => !PATTERN.test(named))
    .filter(
      ([file, named]) => !existsSync(path.join(root, named)) && !existsSync(path.join(root, path.dirname(file), named)),
    )
    .map(([file, named]) => `${file}: ${named} does not exist`);
}

/** Texts in code below `root` that are the path of something outside of it. */
export function outsideFaults(root: string): string[] {
  const upwards = matchesBelow(root, CODE, UPWARDS).filter(([file, up]) => {
    return path.posix.join(path.posix.dirname(file), up).startsWith("..");
  });
  const outside = [...upwards, ...matchesBelow(root, CODE, FROM_ROOT), ...matchesBelow(root, CODE, OF_ONE_MACHINE)];
  return outside.map(([file, place]) => `${file}: ${place} is outside the checkout`).toSorted();
}

/**
 * What `pattern` names in the files of one kind: pairs of the file, and the text of its only group.
 */
function matchesBelow(root: string, kind: RegExp, pattern: RegExp): (readonly [string, string])[] {
  return filesBelow(root)
    .filter((file) => kind.test(file))
    .flatMap((file) => {
      const text = readFileSync(path.join(root, file), "utf8");
      return Array.from(text.matchAll(pattern), ({ groups }) => [file, Object.values(groups ?? {})[0] ?? ""] as const);
    });
}
