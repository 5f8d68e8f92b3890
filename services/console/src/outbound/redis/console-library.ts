import { readFileSync } from "node:fs";

/** The source text of the Redis functions that this folder calls. */
export const CONSOLE_LIBRARY = readFileSync(new URL("console.lua", import.meta.url), "utf8");
