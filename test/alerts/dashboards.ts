/** Reads Grafana dashboards, as far as checks and promtool need them. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

interface Target {
  readonly expr?: string;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly targets?: readonly Target[];
}

interface Variable {
  readonly name: string;
  readonly query?: string | { readonly query: string };
}

/** The parts of a Grafana dashboard that the checks need. */
export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly Variable[] };
}

const LABEL_VALUES = /^label_values\((.+), \w+\)$/;

/** Values for Grafana's variables. */
const VARIABLES: readonly (readonly [RegExp, string])[] = [
  [/\$__rate_interval/g, "1m"],
  [/\$\w+/g, ".*"],
];

/** The dashboards in a folder, by file name. */
export function readDashboards(folder: string): ReadonlyMap<string, Dashboard> {
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return new Map(
    files.map((name) => [name, JSON.parse(readFileSync(path.join(folder, name), "utf8")) as Dashboard] as const),
  );
}

/** Every expression of a dashboard, including the expressions of its variables. */
export function expressionsOf({ panels, templating }: Dashboard): string[] {
  const asked = panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => (expr === undefined ? [] : [expr])));
  const choices = templating.list.flatMap(({ query }) => {
    const text = typeof query === "string" ? query : (query?.query ?? "");
    return LABEL_VALUES.exec(text)?.[1] ?? [];
  });
  return [...asked, ...choices];
}

/** The expression with values for its variables: `1m` for the rate interval, otherwise `.*`. */
export function fillIn(expression: string): string {
  return VARIABLES.reduce((text, [variable, value]) => text.replaceAll(variable, value), expression);
}
