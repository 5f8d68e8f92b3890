import type { TestStack } from "@kapi/local/test-stack";

import type { Violations } from "../live/violations.ts";

const PROBE_INTERVAL_MS = 5_000;
const PROBE_TIMEOUT_MS = 2_000;
/** Time from the first to the third failed probe in the Helm chart, which probes every 10 s. */
const KILLED_AFTER_MS = 20_000;
const NO_ANSWER = "it does not answer";

/**
 * Sends liveness probes as an orchestrator does. A process that answers them with errors for
 * {@link KILLED_AFTER_MS} is a violation.
 */
export class LivenessProbes {
  readonly #stack: TestStack;
  readonly #violations: Violations;
  readonly #dyingSinceMs = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(stack: TestStack, violations: Violations) {
    this.#stack = stack;
    this.#violations = violations;
    this.#timer = setInterval(() => void this.#probe(), PROBE_INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #probe(): Promise<void> {
    await Promise.all(
      Array.from(this.#stack.processes.values(), async ({ name, url }) => {
        const problem = await problemAt(`${url}/livez`);
        // A process without an answer is paused or starting, so it does not count.
        if (problem === null || problem === NO_ANSWER) {
          this.#dyingSinceMs.delete(name);
          return;
        }
        const sinceMs = this.#dyingSinceMs.get(name) ?? Date.now();
        this.#dyingSinceMs.set(name, sinceMs);
        if (Date.now() - sinceMs < KILLED_AFTER_MS) return;
        this.#violations.add(`${name} would be killed for its liveness: ${problem}`);
        this.#dyingSinceMs.set(name, Number.POSITIVE_INFINITY);
      }),
    );
  }
}

/** The processes that are not ready, with the reasons; null if every process is ready. */
export async function unready(stack: TestStack): Promise<string | null> {
  const all = Array.from(stack.processes.values(), async ({ name, url }) => {
    const problem = await problemAt(`${url}/readyz`);
    return problem === null ? null : `${name} is not ready: ${problem}`;
  });
  const problems = (await Promise.all(all)).filter((problem) => problem !== null);
  return problems.length === 0 ? null : problems.join("; ");
}

/** The text of the answer, or {@link NO_ANSWER}; null if the status is 2xx. */
async function problemAt(url: string): Promise<string | null> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    const text = await answer.text();
    return answer.ok ? null : text.trim();
  } catch {
    return NO_ANSWER;
  }
}
