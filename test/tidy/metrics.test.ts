/**
 * docs/reference/metrics.md lists exactly the metrics of the code. The page is generated from the
 * calls that create metrics. `npm run metrics-reference` writes the page again.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

import { describe, expect, it } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../..");
const HOMES = ["libs", "services"];
/** The file that declares the functions that create metrics. The file itself creates no metric. */
const DECLARED_IN = path.join("libs", "runtime", "src", "metrics.ts");
const CALL = /\b(counter|gauge|histogram|observed)\(\s*(?=["'`])/g;
const LITERALS =
  /\b(counter|gauge|histogram|observed)\(\s*"([^"\n]+)",\s*"((?:[^"\\\n]|\\.)+)"(?:,\s*"([^"\n]+)")?\s*[,)]/g;
const KINDS: Readonly<Record<string, string>> = {
  counter: "counter",
  gauge: "gauge",
  histogram: "histogram",
  observed: "gauge",
};

interface Metric {
  readonly name: string;
  readonly kind: string;
  readonly unit: string;
  readonly description: string;
  /** The library or service that has the metric. */
  readonly home: string;
}

function sources(): string[] {
  const sources = HOMES.flatMap((home) =>
    readdirSync(path.join(ROOT, home)).map((name) => path.join(home, name, "src")),
  );
  return sources
    .filter((folder) => existsSync(path.join(ROOT, folder)))
    .flatMap((folder) =>
      readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((file) =>
        path.join(folder, file),
      ),
    )
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && file !== DECLARED_IN);
}

function metricsOf(file: string): { metrics: Metric[]; calls: number } {
  const text = readFileSync(path.join(ROOT, file), "utf8");
  const home = file.split(path.sep).slice(0, 2).join("/");
  const metrics = Array.from(text.matchAll(LITERALS), ([, kind = "", name = "", description = "", unit = ""]) => ({
    name,
    kind: KINDS[kind] ?? "",
    unit,
    description: description.replaceAll('\\"', '"'),
    home,
  }));
  return { metrics, calls: [...text.matchAll(CALL)].length };
}

/** The name of the metric in Prometheus. */
function prometheusName({ name, kind }: Metric): string {
  const plain = name.replaceAll(/[^a-zA-Z0-9_]/g, "_");
  if (kind === "histogram") return `${plain}_bucket, _sum, _count`;
  return kind === "counter" && !plain.endsWith("_total") ? `${plain}_total` : plain;
}

function page(metrics: readonly Metric[]): string {
  const rows = metrics.map((metric) => [
    `\`${metric.name}\``,
    `\`${prometheusName(metric)}\``,
    metric.kind,
    metric.unit === "" ? "" : `\`${metric.unit}\``,
    metric.description,
    metric.home,
  ]);
  const header = ["metric", "in Prometheus", "kind", "unit", "description", "code"];
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return `# Metrics

A process that is started with \`METRICS=on\` serves its metrics at \`/metrics\`, in the text format of Prometheus. The
path is on its HTTP port or, if \`METRICS_PORT\` is set, only on that port. Units are codes of UCUM. The description of a
metric names its labels; in Prometheus a label has underscores instead of dots (\`http_route\`). The column "code" has the
library or service that creates the metric. \`npm run metrics-reference\` makes this page from the code, and a test
compares the two.

${[line(header), line(header.map(() => "---")), ...rows.map(line)].join("\n")}
`;
}

describe("the reference of metrics", () => {
  const files = sources();
  const found = files.map(metricsOf);
  const metrics = found.flatMap((one) => one.metrics).toSorted((a, b) => (a.name < b.name ? -1 : 1));

  it("includes every call whose name is a literal, and requires that its description and unit are literals too", () => {
    expect(metrics.length).toBeGreaterThan(10);
    for (const [index, { metrics: read, calls }] of found.entries()) expect(read.length, files[index]).toBe(calls);
  });

  it("is equal to the committed page (`npm run metrics-reference` writes it)", async () => {
    await expect(page(metrics)).toMatchFileSnapshot("../../docs/reference/metrics.md");
  });

  it("has each name once, as lower-case words with dots, and a unit for every metric but counters", () => {
    expect(metrics.filter(({ name }, index) => metrics.findIndex((one) => one.name === name) !== index)).toEqual([]);
    expect(metrics.filter(({ kind, unit }) => kind !== "counter" && unit === "")).toEqual([]);
    for (const { name } of metrics) expect(name).toMatch(/^[a-z][a-z_]*(\.[a-z_]+)+$/);
  });
});
