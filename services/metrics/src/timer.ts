import type { Started } from "@kapi/runtime";

/** Calls `work` every `intervalMs` until `stop`. */
export function startTimer(intervalMs: number, work: () => void): Started<null> {
  const timer = setInterval(work, intervalMs);
  return {
    value: null,
    stop: () => {
      clearInterval(timer);
      return Promise.resolve();
    },
  };
}
