import { readFileSync } from "node:fs";

/** Redis functions behind the calls of this folder. */
export const CONSOLE_LIBRARY = readFileSync(new URL("console.lua", import.meta.url), "utf8");
