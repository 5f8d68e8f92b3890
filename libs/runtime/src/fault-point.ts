import type { Environment } from "./config.ts";

/**
 * Makes the function behind {@link faultPoint}. It calls `die` when the process passes the point
 * that FAULT_POINT names, but not at the first FAULT_POINT_AFTER passes (default 0).
 */
export function createFaultPoint(env: Environment, die: () => void): (name: string) => void {
  const armed = env["FAULT_POINT"];
  if (armed === undefined || armed === "") return () => undefined;
  let passesLeft = Number(env["FAULT_POINT_AFTER"] ?? 0);
  return (name) => {
    if (name !== armed) return;
    if (passesLeft > 0) passesLeft -= 1;
    else die();
  };
}

/**
 * A point at which a crash test may kill this process with SIGKILL, so that the process flushes,
 * closes and rolls back nothing. Without FAULT_POINT in the environment this function does nothing.
 */
export const faultPoint = createFaultPoint(process.env, () => process.kill(process.pid, "SIGKILL"));
