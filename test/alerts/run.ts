/**
 * `npm run verify -- alerts`: tests every alert of deploy/observability with series of a fault. The
 * alert must be silent before and at the start of the fault, fire during the fault, and clear
 * afterwards. promtool also checks the rules, every query of the dashboards, and the scrape
 * configuration of Docker Compose. promtool comes from PATH, otherwise from Debian's package
 * prometheus. Without promtool the run prints that nothing was tested, and exits with 1.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import type { AlertCase } from "./cases/case.ts";
import { CASES } from "./cases.ts";
import { expressionsOf, fillIn, readDashboards } from "./dashboards.ts";
import { CLEARS_AT, FIRES_AT, INTERVAL_SECONDS, QUIET_AT, TOO_EARLY } from "./phases.ts";
import { prometheusProgram } from "./programs.ts";

const OBSERVABILITY = path.resolve(import.meta.dirname, "../../deploy/observability");
const RULES = path.join(OBSERVABILITY, "alerts/kapi.yaml");
const DASHBOARDS = path.join(OBSERVABILITY, "dashboards");
const SCRAPES = path.join(OBSERVABILITY, "compose/prometheus.yaml");
const RUN_TIMEOUT_MS = 60_000;
let failures = 0;
let passes = 0;
function report(what: string, ok: boolean, output: string): void {
  if (ok) passes += 1;
  else failures += 1;
  console.log(`  ${ok ? "✓" : "✗"} ${what}${ok ? "" : `\n${output}`}`);
}

function runPromtool(promtool: string, args: readonly string[]): { ok: boolean; output: string } {
  const { status, stdout, stderr } = spawnSync(promtool, args, { encoding: "utf8", timeout: RUN_TIMEOUT_MS });
  return { ok: status === 0, output: `${stdout}${stderr}` };
}

/** The promtool test file of one case. JSON is valid YAML. */
function testFile({ alert, series, labels, severity, summary }: AlertCase): string {
  const runbook = `docs/operate.md#${alert.toLowerCase()}`;
  const firing = { exp_labels: { severity, ...labels }, exp_annotations: { summary, runbook_url: runbook } };
  const at = (time: string, expected: readonly unknown[]): unknown => ({
    eval_time: time,
    alertname: alert,
    exp_alerts: expected,
  });
  return JSON.stringify({
    rule_files: [RULES],
    evaluation_interval: `${INTERVAL_SECONDS}s`,
    tests: [
      {
        interval: `${INTERVAL_SECONDS}s`,
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        alert_rule_test: [at(QUIET_AT, []), at(TOO_EARLY, []), at(FIRES_AT, [firing]), at(CLEARS_AT, [])],
      },
    ],
  });
}

/** Every query of the dashboards as a recording rule, because promtool reads only rules. */
function queriesFile(): { text: string; queries: number } {
  const queries = [...readDashboards(DASHBOARDS).values()].flatMap(expressionsOf);
  const rules = queries.map((query, index) => ({
    record: `query:${index}`,
    expr: fillIn(query),
  }));
  return { text: JSON.stringify({ groups: [{ name: "dashboards", rules }] }), queries: queries.length };
}

const promtool = await prometheusProgram("promtool");
if (promtool === null) {
  console.log(
    "The alerts were not tested: promtool is not on PATH, and cannot be installed from Debian (package prometheus).",
  );
  process.exit(1);
}
const folder = mkdtempSync(path.join(tmpdir(), "kapi-alerts-"));
try {
  const rules = runPromtool(promtool, ["check", "rules", RULES]);
  report("Prometheus accepts the rules", rules.ok, rules.output);
  for (const [index, one] of CASES.entries()) {
    const file = path.join(folder, `${index}.yaml`);
    writeFileSync(file, testFile(one));
    const { ok, output } = runPromtool(promtool, ["test", "rules", file]);
    report(`${one.alert} fires and clears: ${one.when}`, ok, output);
  }
  const { text, queries } = queriesFile();
  const file = path.join(folder, "queries.yaml");
  writeFileSync(file, text);
  const asked = runPromtool(promtool, ["check", "rules", file]);
  report(`promtool accepts the ${queries} queries of the dashboards`, asked.ok && queries > 0, asked.output);
  const scrapes = runPromtool(promtool, ["check", "config", SCRAPES]);
  report("promtool accepts the Prometheus configuration of Docker Compose", scrapes.ok, scrapes.output);
} finally {
  rmSync(folder, { recursive: true });
}
console.log(`${passes} passed, ${failures} failed`);
process.exit(failures === 0 ? 0 : 1);
