import { readFileSync } from "node:fs";

/** The function library that the calls of this folder need. Give it to `startRedis`. */
export const ADMISSION_LIBRARY = readFileSync(new URL("kapi.lua", import.meta.url), "utf8");
