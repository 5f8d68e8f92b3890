/**
 * The series of a case, in promtool's notation: healthy for 70 minutes, faulty for half an hour,
 * then healthy again. The fault lasts longer than the longest `for`. The healthy phases last longer
 * than the longest range of any rule.
 */

/** Interval of samples and of rule evaluations. */
export const INTERVAL_SECONDS = 30;
/** 70 minutes: longer than the longest range of any rule, which is an hour. */
const HEALTHY_SAMPLES = 140;
const FAULTY_SAMPLES = 61;
const AFTER_SAMPLES = 160;

/** Shortly before the fault: nothing may fire. */
export const QUIET_AT = "69m";
/** Half a minute into the fault, less than any alert's `for`: nothing may fire. */
export const TOO_EARLY = "70m30s";
/** During the fault. */
export const FIRES_AT = "99m";
/** More than an hour after the fault, longer than the range of any rule. */
export const CLEARS_AT = "178m";

/** A value that goes from `healthy` to `faulty` and back. */
export function level(healthy: number, faulty: number): string {
  return `${healthy}x${HEALTHY_SAMPLES - 1} ${faulty}x${FAULTY_SAMPLES - 1} ${healthy}x${AFTER_SAMPLES - 1}`;
}

/** A counter that rises by `healthy` a second, and by `faulty` a second during the fault. */
export function rising(healthy: number, faulty: number): string {
  const [slow, fast] = [healthy * INTERVAL_SECONDS, faulty * INTERVAL_SECONDS];
  const begins = slow * HEALTHY_SAMPLES;
  const ends = begins + fast * FAULTY_SAMPLES;
  return `0+${slow}x${HEALTHY_SAMPLES - 1} ${begins}+${fast}x${FAULTY_SAMPLES - 1} ${ends}+${slow}x${AFTER_SAMPLES - 1}`;
}

/** A series without values before the fault, like a new counter. It then stays at `value`. */
export function appearing(value: number): string {
  return `_x${HEALTHY_SAMPLES} ${value}x${FAULTY_SAMPLES + AFTER_SAMPLES - 1}`;
}

/** A series that is missing during the fault. */
export function missing(value: number): string {
  return `${value}x${HEALTHY_SAMPLES - 1} stale _x${FAULTY_SAMPLES - 1} ${value}x${AFTER_SAMPLES - 1}`;
}

/** The uptime in seconds of a process that restarts every minute during the fault. */
export function restarting(): string {
  const faulty = Array.from({ length: FAULTY_SAMPLES }, (_, sample) => (sample % 2) * INTERVAL_SECONDS);
  return `0+${INTERVAL_SECONDS}x${HEALTHY_SAMPLES - 1} ${faulty.join(" ")} 0+${INTERVAL_SECONDS}x${AFTER_SAMPLES - 1}`;
}
