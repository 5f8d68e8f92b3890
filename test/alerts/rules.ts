/** Reads the alert rules of deploy/observability, which all have the same layout. */

/** One alert rule. */
export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly severity: string;
  readonly summary: string;
  readonly runbook: string;
}

const RULE = / {6}- alert: (\S+)\n([^]*?)(?=\n {6}- alert: |\n {2}- name: |$)/g;
const EXPRESSION = /^ {8}expr: \|\n((?: {10}.*\n)+)/m;

/** The alerts of a rules file. A missing part of an alert is an empty text. */
export function readRules(text: string): AlertRule[] {
  return Array.from(text.matchAll(RULE), ([, alert = "", body = ""]) => {
    const field = (pattern: RegExp): string => (pattern.exec(body)?.[1] ?? "").trim();
    return {
      alert,
      expr: field(EXPRESSION),
      for: field(/^ {8}for: (\d+[smh])$/m),
      severity: field(/^ {8}labels: \{ severity: (\w+) \}$/m),
      summary: field(/^ {10}summary: "?(.+?)"?$/m),
      runbook: field(/^ {10}runbook_url: (\S+)$/m),
    };
  });
}

/** Number of alerts in any layout. {@link readRules} must find the same number. */
export function countAlerts(text: string): number {
  return [...text.matchAll(/\balert:/g)].length;
}
