/** What a case of an alert is made of. */

type Labels = Readonly<Record<string, string>>;

/** One trouble, and the alert that must tell of it. */
export interface AlertCase {
  readonly alert: string;
  /** What happens, in words. */
  readonly when: string;
  /** By the name of the series with its labels what it does, in promtool's notation. */
  readonly series: Readonly<Record<string, string>>;
  /** What the alert tells while the trouble lasts, beside its name and severity. */
  readonly labels: Labels;
  readonly severity: "critical" | "warning";
  readonly summary: string;
}

/** The labels of a process of finance. */
export const FIRST = { job: "finance", instance: "10.0.0.1:9464" };
/** Those of another one. */
export const SECOND = { job: "finance", instance: "10.0.0.2:9464" };

/** A series of kapi. */
export function kapi(name: string, labels: Labels = {}): string {
  const all = Object.entries({ application: "kapi", ...labels }).map(([key, value]) => `${key}="${value}"`);
  return `${name}{${all.join(",")}}`;
}
