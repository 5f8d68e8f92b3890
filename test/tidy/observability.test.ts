/**
 * Alerts, dashboards, runbook and the alerts' cases fit together, and to what the code measures.
 * Whether an alert fires is for promtool to say: `npm run verify -- alerts`.
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
  it("ask for metrics that exist, and every alert has its runbook entry and its case", () => {
    expect(observabilityFaults(here())).toEqual([]);
  });

  it("are seen, all of them", () => {
    const { rules, dashboards, reference } = here();
    expect(readRules(rules).length).toBeGreaterThan(30);
    expect(dashboards.size).toBe(5);
    expect(knownSeries(reference).size).toBeGreaterThan(30);
  });

  it("are fed in Docker Compose by every program", () => {
    const services = read(ROOT, "docker-compose.yml").matchAll(/^ {2}([a-z-]+):\n {4}<<: \*program$/gm);
    const programs = Array.from(services, ([, name = ""]) => name);
    const targets = read(ROOT, "deploy/observability/compose/prometheus.yaml").matchAll(/^ +- ([a-z-]+):9464$/gm);
    expect(programs.length).toBeGreaterThan(5);
    expect(Array.from(targets, ([, name = ""]) => name).toSorted()).toEqual(programs.toSorted());
  });

  it("are refused where they do not fit: each fault of fixtures/observability is reported", () => {
    const faulty = {
      rules: read(FIXTURES, "alerts.yaml"),
      dashboards: readDashboards(FIXTURES),
      reference: read(FIXTURES, "metrics.md"),
      runbook: read(FIXTURES, "operate.md"),
      cases: [{ alert: "KapiWell" }, { alert: "KapiForgotten" }],
    };
    expect(observabilityFaults(faulty)).toEqual([
      "1 alert(s) are not written in the form that can be read",
      "KapiAmiss does not say for how long",
      "KapiAmiss has no severity of ours",
      "KapiAmiss has no summary",
      "KapiAmiss does not lead to its runbook entry",
      "KapiAmiss asks for made_up_total, which docs/reference/metrics.md does not have",
      "KapiAmiss asks for known_seconds_count of every program, not only of kapi",
      "KapiAmiss asks for known of every program, not only of kapi",
      "KapiAmiss has no entry in docs/operate.md",
      "docs/operate.md tells of KapiGone, no alert",
      'the entry of KapiGone lacks "**Do not**"',
      "KapiAmiss has no case in test/alerts",
      "test/alerts has a case of KapiForgotten, no alert",
      "two dashboards have the uid same",
      "first.json: two panels have one id",
      "first.json asks for made_up_total, which docs/reference/metrics.md does not have",
      "second.json asks for nothing",
    ]);
  });
});
