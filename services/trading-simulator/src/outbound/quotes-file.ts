import { readFile } from "node:fs/promises";

import { parseRecording, type Recording, symbolOfFile } from "../domain/recording.ts";
import { SYMBOLS } from "../domain/symbols.ts";

/**
 * Reads a recording. `symbol` null: the symbol is taken from the file name.
 * @throws Error if the file, the symbol or a line is invalid.
 */
export async function readRecording(path: string, symbol: string | null): Promise<Recording> {
  const name = symbol ?? symbolOfFile(path, SYMBOLS);
  if (name === null) {
    throw new RangeError(`QUOTES_SYMBOL is not set, and no symbol is at the beginning of the file name ${path}`);
  }
  try {
    return parseRecording(name, await readFile(path, "utf8"));
  } catch (error) {
    throw new Error(`the quotes of ${path} cannot be used: ${String(error)}`, { cause: error });
  }
}
