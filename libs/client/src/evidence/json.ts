/** Reads the JSON of evidence strictly, and writes the canonical form that is hashed. */

/**
 * The quote that begins a string, one character of the syntax, or anything else: a number, `true`,
 * `false`, `null`.
 */
const TOKEN_START = /["{}[\],:]|[^\s{}[\],:"]+/g;
/** Maximum depth of nested objects and lists; evidence has fewer than ten. */
const MAX_DEPTH = 100;
const WORD = /^(?:0|-?[1-9]\d*|true|false|null)$/;

/** The parsed value, or the reason why the text is not JSON that every program reads equally. */
export type StrictJson = { readonly value: unknown } | { readonly fault: string };

/**
 * Parses JSON text. A repeated member name is a fault: some programs read the first value, some the
 * last. Other faults are a number that is not an integer, which evidence never has, and nesting
 * deeper than {@link MAX_DEPTH}.
 */
export function parseStrictJson(text: string): StrictJson {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: `it is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
  const names: Set<string>[] = [];
  let before = "";
  for (const token of tokensOf(text)) {
    if (token === "{" || token === "[") names.push(new Set());
    else if (token === "}" || token === "]") names.pop();
    else if (token === ":") {
      const name = JSON.parse(before) as string;
      if (names.at(-1)?.has(name) === true) return { fault: `the member ${JSON.stringify(name)} is repeated` };
      names.at(-1)?.add(name);
    } else if (!token.startsWith('"') && token !== "," && !WORD.test(token)) {
      return { fault: `${token} is not an integer` };
    }
    if (names.length > MAX_DEPTH) return { fault: `it is nested more than ${MAX_DEPTH} deep` };
    before = token;
  }
  return { value };
}

/**
 * The tokens of valid JSON text. Strings are read in a loop: a regular expression with a group for
 * each character overflows the stack at a long string.
 */
function* tokensOf(text: string): Generator<string> {
  const starts = new RegExp(TOKEN_START);
  for (let start = starts.exec(text); start !== null; start = starts.exec(text)) {
    let end = starts.lastIndex;
    if (start[0] === '"') {
      while (text[end] !== '"') end += text[end] === "\\" ? 2 : 1;
      end += 1;
      starts.lastIndex = end;
    }
    yield text.slice(start.index, end);
  }
}

/** The canonical form (RFC 8785) of a value that JSON can have. */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(",")}]`;
  const members = Object.keys(value)
    // By UTF-16 code units, as RFC 8785 says.
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson((value as Record<string, unknown>)[name])}`);
  return `{${members.join(",")}}`;
}
