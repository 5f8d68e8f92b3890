/** Maximum duration of one component's stop; then the next component is stopped. */
export const STOP_DEADLINE_MS = 10_000;

/** A started component: the value to use, and its stop. */
export interface Started<T> {
  readonly value: T;
  readonly stop: () => Promise<void>;
}

interface Component {
  readonly name: string;
  readonly stop: () => Promise<void>;
}

/**
 * Owns the components that a service has started. Stops them in reverse order, each within a
 * deadline. A component that fails to stop does not prevent other components from stopping. If a
 * start fails, all components before it are stopped.
 */
export class Scope {
  readonly #components: Component[] = [];
  readonly #stopDeadlineMs: number;
  #stopped: Promise<void> | null = null;
  #startFailure: Error | null = null;

  constructor(options: { stopDeadlineMs?: number } = {}) {
    this.#stopDeadlineMs = options.stopDeadlineMs ?? STOP_DEADLINE_MS;
  }

  /**
   * Why a component did not start, as soon as that is known; null if all did. Failures after the
   * stop has begun do not count: perhaps they come from the stop.
   */
  get startFailure(): Error | null {
    return this.#startFailure;
  }

  /**
   * Starts a component and owns its stop. Returns the component's value.
   * @throws an Error with the failure of `start` as its cause, after all earlier components have
   * stopped; an AggregateError if one of these did not stop. If the scope's stop has already begun:
   * an Error, and the component is not started. If the scope's stop begins during `start`: an
   * Error, after the component was stopped.
   */
  async start<T>(name: string, start: () => Promise<Started<T>> | Started<T>): Promise<T> {
    if (this.#stopped !== null) throw new Error(`${name} was not started: the process is stopping`);
    let started: Started<T>;
    try {
      started = await start();
    } catch (error) {
      const failure = new Error(`${name} did not start: ${textOf(error)}`, { cause: error });
      if (this.#stopped === null) this.#startFailure = failure;
      await this.#rollBack(name, error);
      throw failure;
    }
    if (this.#stopped !== null) {
      await this.#stopOne({ name, stop: () => started.stop() });
      throw new Error(`${name} was stopped right after its start: the process is stopping`);
    }
    this.#components.push({ name, stop: () => started.stop() });
    return started.value;
  }

  /**
   * Stops all components in reverse order. A second call waits for the same stop.
   * @throws AggregateError after all stops, with one error for each component that failed or took
   * too long.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stopAll();
    return this.#stopped;
  }

  async #stopAll(): Promise<void> {
    const failures: unknown[] = [];
    for (let component = this.#components.pop(); component !== undefined; component = this.#components.pop()) {
      try {
        await this.#stopOne(component);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, failures.map(textOf).join("; "));
  }

  async #stopOne(component: Component): Promise<void> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`no end within ${this.#stopDeadlineMs} ms`)), this.#stopDeadlineMs);
    try {
      await Promise.race([component.stop(), late]);
    } catch (error) {
      throw new Error(`${component.name} did not stop: ${textOf(error)}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  async #rollBack(name: string, startError: unknown): Promise<void> {
    try {
      await this.stop();
    } catch (stopError) {
      const message = `${name} did not start: ${textOf(startError)}; then ${textOf(stopError)}`;
      throw new AggregateError([startError, stopError], message, { cause: stopError });
    }
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
