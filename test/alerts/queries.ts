/** Extracts metric names and selectors from PromQL, for the check that every metric exists. */

/** A metric of an expression, and the text of its selector. */
export interface Selector {
  readonly metric: string;
  readonly matchers: string;
}

/**
 * The metrics of an expression. `bare` has the names without a selector: such a name also selects
 * the series of other programs.
 */
export interface Query {
  readonly selectors: readonly Selector[];
  readonly bare: readonly string[];
}

const SELECTOR = /([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}/g;
/** Parts without metrics: label lists, ranges, subqueries, offsets, texts, numbers with units. */
const NO_METRICS =
  /\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)|\[[^\]]*\]|\boffset\s+\w+|"[^"]*"|\b\d[\w.]*/g;
const NAME = /[a-zA-Z_:][a-zA-Z0-9_:]*(?!\s*\()\b/g;
const KEYWORDS: ReadonlySet<string> = new Set(["and", "or", "unless", "bool", "offset"]);

/** Returns the metrics of an expression. Grafana's variables are ignored. */
export function readQuery(expression: string): Query {
  const selectors = Array.from(expression.matchAll(SELECTOR), ([, metric = "", matchers = ""]) => ({
    metric,
    matchers,
  }));
  const rest = expression.replaceAll(SELECTOR, " ").replaceAll(NO_METRICS, " ").replaceAll(/\$\w+/g, " ");
  const names = Array.from(rest.matchAll(NAME), ([name]) => name);
  return { selectors, bare: names.filter((name) => !KEYWORDS.has(name)) };
}
