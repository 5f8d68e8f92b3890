/** Returns null if the check passes, otherwise the reason in a few words. */
export type HealthCheck = () => string | null;

/** The response to a probe: whether all checks pass, and the reason of each failed check. */
export interface HealthReport {
  readonly ok: boolean;
  readonly reasons: Readonly<Record<string, string>>;
}

/**
 * The health of a process. If a liveness check fails, the process is restarted. While a readiness
 * check fails, the process gets no requests. Every probe runs the checks, so they must be cheap and
 * use memory only.
 */
export class Health {
  readonly #liveness = new Map<string, HealthCheck>();
  readonly #readiness = new Map<string, HealthCheck>();
  #stopping = false;

  /** Adds a liveness check; replaces the check with the same name. */
  liveness(name: string, check: HealthCheck): void {
    this.#liveness.set(name, check);
  }

  /** Adds a readiness check; replaces the check with the same name. */
  readiness(name: string, check: HealthCheck): void {
    this.#readiness.set(name, check);
  }

  /** The first step of every stop: the process is not ready, even if its checks pass. */
  beginStop(): void {
    this.#stopping = true;
  }

  /** Whether the stop has begun. Long waits must end then. */
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

/** A check that throws counts as failed, so that every probe is answered. */
function ask(check: HealthCheck): string | null {
  try {
    return check();
  } catch (error) {
    return `the check failed: ${error instanceof Error ? error.message : String(error)}`;
  }
}
