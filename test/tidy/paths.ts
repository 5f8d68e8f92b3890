import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

import { filesBelow } from "./files.ts";

const CODE = /\.(?:ts|tsx|js|mjs|sh)$/;
/** A path in a document: `libs/kernel/src/money.ts`, or `src/config.ts` beside a README. */
const NAMED = /`(?<named>(?:libs|services|deploy|docs|test|src)\/[^`\s]*)`/g;
/** A path with one of these characters is a pattern. Patterns are not checked. */
const PATTERN = /[<>*{}$…]/;
/** A relative path upwards: `"../../migrations"`. */
const UPWARDS = /["'`](?<up>(?:\.\.\/)+[^"'`\s]*|(?:\.\.\/)*\.\.)["'`]/g;
/** A relative path upwards from the root of the checkout. Such a path is always outside. */
const FROM_ROOT = /\bROOT,\s*["'`](?<up>\.\.[^"'`]*)["'`]/g;
/** A personal folder of one machine. */
const OF_ONE_MACHINE = /["'`](?<place>\/(?:home|root|mnt|Users)\/[^"'`\s]*)["'`]/g;

/**
 * Paths in backticks in Markdown below `root` that exist neither from `root` nor from the folder of
 * the document.
 */
export function namedPathFaults(root: string): string[] {
  return matchesBelow(root, /\.md$/, NAMED)
    .filter(([, named]) => !PATTERN.test(named))
    .filter(
      ([file, named]) => !existsSync(path.join(root, named)) && !existsSync(path.join(root, path.dirname(file), named)),
    )
    .map(([file, named]) => `${file}: ${named} does not exist`);
}

/** Texts in code below `root` that are paths outside `root`. */
export function outsideFaults(root: string): string[] {
  const upwards = matchesBelow(root, CODE, UPWARDS).filter(([file, up]) => {
    return path.posix.join(path.posix.dirname(file), up).startsWith("..");
  });
  const outside = [...upwards, ...matchesBelow(root, CODE, FROM_ROOT), ...matchesBelow(root, CODE, OF_ONE_MACHINE)];
  return outside.map(([file, place]) => `${file}: ${place} is outside the checkout`).toSorted();
}

/** Matches in the files whose path matches `kind`: the file, and the text of `pattern`'s group. */
function matchesBelow(root: string, kind: RegExp, pattern: RegExp): (readonly [string, string])[] {
  return filesBelow(root)
    .filter((file) => kind.test(file))
    .flatMap((file) => {
      const text = readFileSync(path.join(root, file), "utf8");
      return Array.from(text.matchAll(pattern), ({ groups }) => [file, Object.values(groups ?? {})[0] ?? ""] as const);
    });
}
