/** What PromQL expressions ask for, as far as a check of names needs to know. */

/** A metric that an expression asks for, and the text of its selector. */
export interface Selector {
  readonly metric: string;
  readonly matchers: string;
}

/**
 * What the expression asks for, and the names in it that stand without a selector and so ask for
 * every program's.
 */
export interface Query {
  readonly selectors: readonly Selector[];
  readonly bare: readonly string[];
}

const SELECTOR = /([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}/g;
/**
 * A list of labels, a range or a subquery, an offset, a text, a number with its unit: no metric is
 * in any of them.
 */
const NO_METRICS =
  /\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)|\[[^\]]*\]|\boffset\s+\w+|"[^"]*"|\b\d[\w.]*/g;
const NAME = /[a-zA-Z_:][a-zA-Z0-9_:]*(?!\s*\()\b/g;
const KEYWORDS: ReadonlySet<string> = new Set(["and", "or", "unless", "bool", "offset"]);

/** Reads an expression; Grafana's variables in it are no names. */
export function readQuery(expression: string): Query {
  const selectors = Array.from(expression.matchAll(SELECTOR), ([, metric = "", matchers = ""]) => ({
    metric,
    matchers,
  }));
  const rest = expression.replaceAll(SELECTOR, " ").replaceAll(NO_METRICS, " ").replaceAll(/\$\w+/g, " ");
  const names = Array.from(rest.matchAll(NAME), ([name]) => name);
  return { selectors, bare: names.filter((name) => !KEYWORDS.has(name)) };
}
