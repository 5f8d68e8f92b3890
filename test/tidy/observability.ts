import type { AlertCase } from "../alerts/cases/case.ts";
import { type Dashboard, expressionsOf } from "../alerts/dashboards.ts";
import { readQuery } from "../alerts/queries.ts";
import { type AlertRule, countAlerts, readRules } from "../alerts/rules.ts";

/** The compared files, as text or parsed. */
export interface Observability {
  /** deploy/observability/alerts/kapi.yaml. */
  readonly rules: string;
  readonly dashboards: ReadonlyMap<string, Dashboard>;
  /** docs/reference/metrics.md. */
  readonly reference: string;
  /** docs/operate.md. */
  readonly runbook: string;
  readonly cases: readonly Pick<AlertCase, "alert">[];
}

/** The parts of a runbook entry, by their first words. */
const PARTS = ["- **Customers", "- **Diagnose:**", "- **Do:**", "- **Do not**"];
const SEVERITIES: ReadonlySet<string> = new Set(["critical", "warning"]);
/** The metric that Prometheus itself creates: whether a target answered. */
const OF_PROMETHEUS = "up";
const OURS = 'application="kapi"';
const REFERENCE_ROW = /^\| `[^`]*` +\| `([a-z][a-z0-9_, ]*)` +\|/gm;
const ENTRY = /^### (Kapi\w+)\n([^]*?)(?=^##|(?![^]))/gm;

/** The faults of alerts, dashboards, runbook and cases, one sentence each. */
export function observabilityFaults(given: Observability): string[] {
  const rules = readRules(given.rules);
  const known = knownSeries(given.reference);
  const unread = countAlerts(given.rules) - rules.length;
  return [
    ...(unread === 0 ? [] : [`${unread} alert(s) do not have the layout that this check reads`]),
    ...rules.flatMap(ruleFaults),
    ...rules.flatMap(({ alert, expr }) => queryFaults(alert, expr, known)),
    ...runbookFaults(rules, given.runbook),
    ...caseFaults(rules, given.cases),
    ...dashboardFaults(given.dashboards, known),
  ];
}

/** The Prometheus names of all series, from the generated page. */
export function knownSeries(reference: string): ReadonlySet<string> {
  const names = Array.from(reference.matchAll(REFERENCE_ROW), ([, cell = ""]) => cell.split(", "));
  // A histogram is written `name_bucket, _sum, _count`.
  const series = names.flatMap(([first = "", ...others]) =>
    [first].concat(others.map((suffix) => first.replace(/_bucket$/, suffix))),
  );
  return new Set([OF_PROMETHEUS, ...series]);
}

function ruleFaults({ alert, expr, for: pending, severity, summary, runbook }: AlertRule): string[] {
  const faults: string[] = [];
  if (expr === "") faults.push(`${alert} has no expression`);
  if (pending === "") faults.push(`${alert} has no duration (for)`);
  if (!SEVERITIES.has(severity)) faults.push(`${alert} has neither the severity critical nor warning`);
  if (summary === "") faults.push(`${alert} has no summary`);
  if (runbook !== `docs/operate.md#${alert.toLowerCase()}`) faults.push(`${alert} does not link to its runbook entry`);
  return faults;
}

function queryFaults(place: string, expression: string, known: ReadonlySet<string>): string[] {
  const { selectors, bare } = readQuery(expression);
  const unknown = selectors.filter(({ metric }) => !known.has(metric)).map(({ metric }) => metric);
  const others = selectors.filter(({ matchers }) => !matchers.includes(OURS)).map(({ metric }) => metric);
  return [
    ...(selectors.length === 0 ? [`${place} uses no metric`] : []),
    ...unknown.map((metric) => `${place} uses ${metric}, which is not in docs/reference/metrics.md`),
    ...[...others, ...bare].map((metric) => `${place} uses ${metric} without the label application`),
  ];
}

function runbookFaults(rules: readonly AlertRule[], runbook: string): string[] {
  const entries = new Map(Array.from(runbook.matchAll(ENTRY), ([, name = "", text = ""]) => [name, text] as const));
  const alerts = new Set(rules.map(({ alert }) => alert));
  return [
    ...[...alerts].filter((alert) => !entries.has(alert)).map((alert) => `${alert} has no entry in docs/operate.md`),
    ...[...entries.keys()]
      .filter((name) => !alerts.has(name))
      .map((name) => `docs/operate.md has an entry for ${name}, which is not an alert`),
    ...[...entries].flatMap(([name, text]) =>
      PARTS.filter((part) => !text.includes(part)).map((part) => `the entry of ${name} lacks "${part.slice(2)}"`),
    ),
  ];
}

function caseFaults(rules: readonly AlertRule[], cases: Observability["cases"]): string[] {
  const [alerts, tested] = [new Set(rules.map(({ alert }) => alert)), new Set(cases.map(({ alert }) => alert))];
  return [
    ...[...alerts].filter((alert) => !tested.has(alert)).map((alert) => `${alert} has no case in test/alerts`),
    ...[...tested]
      .filter((alert) => !alerts.has(alert))
      .map((alert) => `test/alerts has a case for ${alert}, which is not an alert`),
  ];
}

function dashboardFaults(dashboards: Observability["dashboards"], known: ReadonlySet<string>): string[] {
  const uids = [...dashboards.values()].map(({ uid }) => uid);
  const twice = uids.filter((uid, index) => uids.indexOf(uid) !== index);
  const faults = twice.map((uid) => `two dashboards have the uid ${uid}`);
  for (const [file, dashboard] of dashboards) {
    const ids = dashboard.panels.map(({ id }) => id);
    const queries = expressionsOf(dashboard);
    if (new Set(ids).size !== ids.length) faults.push(`${file}: two panels have the same id`);
    if (queries.length === 0) faults.push(`${file} has no query`);
    faults.push(...queries.flatMap((query) => queryFaults(file, query, known)));
  }
  return faults;
}
