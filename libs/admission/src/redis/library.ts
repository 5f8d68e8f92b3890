import { readFileSync } from "node:fs";

/**
 * The function library behind the calls of this folder, which a connection that makes them is
 * given.
 */
export const ADMISSION_LIBRARY = readFileSync(new URL("kapi.lua", import.meta.url), "utf8");
