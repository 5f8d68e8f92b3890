/**
 * The series of a case, in promtool's notation: healthy for 70 minutes, faulty for half an hour,
 * then healthy again. The fault lasts longer than the longest `for`. The healthy phases last longer
 * than the longest range of any rule.
 */

/** Interval of samples and of rule evaluations. */
export const INTERVAL_SECONDS = 30;
/** More than an hour, the longest range of any rule. */
const WELL_SAMPLES = 140;
const ILL_SAMPLES = 61;
const AFTER_SAMPLES = 160;

/** Shortly before the fault: nothing may fire. */
export const QUIET_AT = "69m";
/** Half a minute into the fault, less than any alert's `for`: nothing may fire. */
export const TOO_EARLY = "70m30s";
/** During the fault. */
export const FIRES_AT = "99m";
/** More than an hour after the fault, longer than the range of any rule. */
export const CLEARS_AT = "178m";

/** A value that goes from `well` to `ill` and back. */
export function level(well: number, ill: number): string {
  return `${well}x${WELL_SAMPLES - 1} ${ill}x${ILL_SAMPLES - 1} ${well}x${AFTER_SAMPLES - 1}`;
}

/** A counter that rises by `well` a second, and by `ill` a second during the fault. */
export function rising(well: number, ill: number): string {
  const [slow, fast] = [well * INTERVAL_SECONDS, ill * INTERVAL_SECONDS];
  const begins = slow * WELL_SAMPLES;
  const ends = begins + fast * ILL_SAMPLES;
  return `0+${slow}x${WELL_SAMPLES - 1} ${begins}+${fast}x${ILL_SAMPLES - 1} ${ends}+${slow}x${AFTER_SAMPLES - 1}`;
}

/** A series without values before the fault, like a new counter. It then stays at `value`. */
export function appearing(value: number): string {
  return `_x${WELL_SAMPLES} ${value}x${ILL_SAMPLES + AFTER_SAMPLES - 1}`;
}

/** A series that is missing during the fault. */
export function missing(value: number): string {
  return `${value}x${WELL_SAMPLES - 1} stale _x${ILL_SAMPLES - 1} ${value}x${AFTER_SAMPLES - 1}`;
}

/** The uptime in seconds of a process that restarts every minute during the fault. */
export function restarting(): string {
  const ill = Array.from({ length: ILL_SAMPLES }, (_, sample) => (sample % 2) * INTERVAL_SECONDS);
  return `0+${INTERVAL_SECONDS}x${WELL_SAMPLES - 1} ${ill.join(" ")} 0+${INTERVAL_SECONDS}x${AFTER_SAMPLES - 1}`;
}
