/**
 * Alerts, dashboards, runbook and alert cases agree with each other and with the metrics of the
 * code. `npm run verify -- alerts` tests whether each alert fires.
 */
import { readFileSync } from "node:fs";
import path from "node:path";

import { describe, expect, it } from "vitest";

import { CASES } from "../alerts/cases.ts";
import { readDashboards } from "../alerts/dashboards.ts";
import { readRules } from "../alerts/rules.ts";
import { knownSeries, type Observability, observabilityFaults } from "./observability.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const FIXTURES = path.join(import.meta.dirname, "fixtures/observability");

function read(folder: string, file: string): string {
  return readFileSync(path.join(folder, file), "utf8");
}

function here(): Observability {
  return {
    rules: read(ROOT, "deploy/observability/alerts/kapi.yaml"),
    dashboards: readDashboards(path.join(ROOT, "deploy/observability/dashboards")),
    reference: read(ROOT, "docs/reference/metrics.md"),
    runbook: read(ROOT, "docs/operate.md"),
    cases: CASES,
  };
}

describe("alerts and dashboards", () => {
  it("use existing metrics, and every alert has a runbook entry and a case", () => {
    expect(observabilityFaults(here())).toEqual([]);
  });

  it("are all read by this check", () => {
    const { rules, dashboards, reference } = here();
    expect(readRules(rules).length).toBeGreaterThan(30);
    expect(dashboards.size).toBe(5);
    expect(knownSeries(reference).size).toBeGreaterThan(30);
  });

  it("get the metrics of every program in Docker Compose", () => {
    const services = read(ROOT, "docker-compose.yml").matchAll(/^ {2}([a-z-]+):\n {4}<<: \*program$/gm);
    const programs = Array.from(services, ([, name = ""]) => name);
    const targets = read(ROOT, "deploy/observability/compose/prometheus.yaml").matchAll(/^ +- ([a-z-]+):9464$/gm);
    expect(programs.length).toBeGreaterThan(5);
    expect(Array.from(targets, ([, name = ""]) => name).toSorted()).toEqual(programs.toSorted());
  });

  it("are reported for each fault in fixtures/observability", () => {
    const faulty = {
      rules: read(FIXTURES, "alerts.yaml"),
      dashboards: readDashboards(FIXTURES),
      reference: read(FIXTURES, "metrics.md"),
      runbook: read(FIXTURES, "operate.md"),
      cases: [{ alert: "KapiWell" }, { alert: "KapiForgotten" }],
    };
    expect(observabilityFaults(faulty)).toEqual([
      "1 alert(s) do not have the layout that this check reads",
      "KapiAmiss has no duration (for)",
      "KapiAmiss has neither the severity critical nor warning",
      "KapiAmiss has no summary",
      "KapiAmiss does not link to its runbook entry",
      "KapiAmiss uses made_up_total, which is not in docs/reference/metrics.md",
      "KapiAmiss uses known_seconds_count without the label application",
      "KapiAmiss uses known without the label application",
      "KapiAmiss has no entry in docs/operate.md",
      "docs/operate.md has an entry for KapiGone, which is not an alert",
      'the entry of KapiGone lacks "**Do not**"',
      "KapiAmiss has no case in test/alerts",
      "test/alerts has a case for KapiForgotten, which is not an alert",
      "two dashboards have the uid same",
      "first.json: two panels have the same id",
      "first.json uses made_up_total, which is not in docs/reference/metrics.md",
      "second.json has no query",
    ]);
  });
});
