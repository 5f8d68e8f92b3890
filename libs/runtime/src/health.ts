/** Returns null if the check passes, otherwise the reason in a few words. */
export type HealthCheck = () => string | null;

/** The response to a probe: whether all checks pass, and the reason of each failed check. */
export interface HealthReport {
  readonly ok: boolean;
  readonly reasons: Readonly<Record<string, string>>;
}

/**
 * The health of a service. If a liveness check fails, its process is restarted. While a readiness
 * check fails, its process gets no requests. Every probe runs the checks, so they must be cheap and
 * use memory only.
 *
 * An orchestrator restarts a whole process, so services of one process answer each probe with the
 * checks of all of them ({@link Health.join}).
 */
export class Health {
  #process: ReadonlyMap<string, Health> = new Map();
  readonly #liveness = new Map<string, HealthCheck>();
  readonly #readiness = new Map<string, HealthCheck>();
  #stopping = false;

  /** From now on, each of `services` answers probes for all of them. They share a process. */
  static join(services: ReadonlyMap<string, Health>): void {
    for (const health of services.values()) health.#process = services;
  }

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
    return this.#all((health) => report(health.#liveness));
  }

  ready(): HealthReport {
    return this.#all((health) => health.ownReady());
  }

  /** Like {@link ready}, but without the other services of the process. */
  ownReady(): HealthReport {
    const { reasons } = report(this.#readiness);
    const all = this.#stopping ? { ...reasons, process: "stopping" } : reasons;
    return { ok: Object.keys(all).length === 0, reasons: all };
  }

  #all(reportOf: (health: Health) => HealthReport): HealthReport {
    if (this.#process.size <= 1) return reportOf(this);
    const reasons = [...this.#process].flatMap(([service, health]) =>
      Object.entries(reportOf(health).reasons).map(([name, reason]) => [`${service}: ${name}`, reason]),
    );
    return { ok: reasons.length === 0, reasons: Object.fromEntries(reasons) };
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
