/** The result of a check: null when well, else the reason in a few words. */
export type HealthCheck = () => string | null;

/**
 * The answer of a probe: whether all is well, and the reason of each check that is not, by its
 * name.
 */
export interface HealthReport {
  readonly ok: boolean;
  readonly reasons: Readonly<Record<string, string>>;
}

/**
 * The health of a process. Liveness: restart me when this fails. Readiness: send me no requests
 * while this fails. Checks are cheap and answer from memory; they are asked at every probe.
 */
export class Health {
  readonly #liveness = new Map<string, HealthCheck>();
  readonly #readiness = new Map<string, HealthCheck>();
  #stopping = false;

  /** Adds a named liveness check; the same name again takes the earlier one's place. */
  liveness(name: string, check: HealthCheck): void {
    this.#liveness.set(name, check);
  }

  /** Adds a named readiness check; the same name again takes the earlier one's place. */
  readiness(name: string, check: HealthCheck): void {
    this.#readiness.set(name, check);
  }

  /**
   * From now on this process is not ready, whatever its checks say: the first step of every stop.
   */
  beginStop(): void {
    this.#stopping = true;
  }

  /** Whether the stop has begun: what waits for long ends its wait now. */
  get isStopping(): boolean {
    return this.#stopping;
  }

  live(): HealthReport {
    return report(this.#liveness);
  }

  ready(): HealthReport {
    const { reasons } = report(this.#readiness);
    const all = this.#stopping ? { ...reasons, process: "stopping" } : reasons;
    return { ok: Object.keys(all).length === 0, reasons: all };
  }
}

function report(checks: ReadonlyMap<string, HealthCheck>): HealthReport {
  const reasons: Record<string, string> = {};
  for (const [name, check] of checks) {
    const reason = ask(check);
    if (reason !== null) reasons[name] = reason;
  }
  return { ok: Object.keys(reasons).length === 0, reasons };
}

/** A check that throws is a check that failed: a probe must always be answered. */
function ask(check: HealthCheck): string | null {
  try {
    return check();
  } catch (error) {
    return `the check failed: ${error instanceof Error ? error.message : String(error)}`;
  }
}
