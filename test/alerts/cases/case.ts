type Labels = Readonly<Record<string, string>>;

/** One fault, and the alert that must fire. */
export interface AlertCase {
  readonly alert: string;
  /** Description of the fault. */
  readonly when: string;
  /** Values in promtool's notation, by series with labels. */
  readonly series: Readonly<Record<string, string>>;
  /** Labels of the firing alert, besides its name and severity. */
  readonly labels: Labels;
  readonly severity: "critical" | "warning";
  readonly summary: string;
}

/** The labels of a finance process. */
export const FIRST = { job: "finance", instance: "10.0.0.1:9464" };
/** The labels of another finance process. */
export const SECOND = { job: "finance", instance: "10.0.0.2:9464" };

/** A series of kapi. */
export function kapi(name: string, labels: Labels = {}): string {
  const all = Object.entries({ application: "kapi", ...labels }).map(([key, value]) => `${key}="${value}"`);
  return `${name}{${all.join(",")}}`;
}
