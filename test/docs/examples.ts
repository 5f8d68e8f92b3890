/**
 * The examples of the guides. A page has at most one program in each language: all its fenced
 * blocks that begin with the language and the word `run`, such as "python run", in their order.
 */
import { readFileSync } from "node:fs";
import path from "node:path";

const GUIDES = path.resolve(import.meta.dirname, "../../docs/guides");
const BLOCK = /^```(\w+)( run)?\n(.*?)^```$/gms;

export type Language = "sh" | "ts" | "python";

interface Block {
  readonly language: string;
  readonly runs: boolean;
  readonly code: string;
}

/** The program of a page in a language. @throws Error if the page has none. */
export function programOf(page: string, language: Language): string {
  return joined(page, (block) => block.runs && block.language === language);
}

/** All TypeScript of a page for the compiler, including examples that are not run. */
export function typeScriptOf(page: string): string {
  return joined(page, (block) => block.language === "ts");
}

function joined(page: string, isWanted: (block: Block) => boolean): string {
  const text = readFileSync(path.join(GUIDES, page), "utf8");
  const blocks = [...text.matchAll(BLOCK)].map(([, language = "", run, code = ""]) => {
    return { language, runs: run !== undefined, code };
  });
  const code = blocks.filter(isWanted).map((block) => block.code);
  if (code.length === 0) throw new Error(`${page} has no example in this language`);
  return code.join("\n");
}
