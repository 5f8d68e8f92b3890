import { readFileSync } from "node:fs";

/**
 * The function library behind the calls of this folder, which a connection that makes them is
 * given.
 */
export const CONSOLE_LIBRARY = readFileSync(new URL("console.lua", import.meta.url), "utf8");
