/**
 * What a series does in a case of an alert, in promtool's notation: well for 70 minutes, ill for
 * half an hour, then well again. The same times for all of them: long enough for the longest `for`
 * and the longest range of any rule.
 */

/** Between two samples of a series, and between two evaluations of the rules. */
export const INTERVAL_SECONDS = 30;
/** More than an hour, which is as far back as any rule looks. */
const WELL_SAMPLES = 140;
const ILL_SAMPLES = 61;
const AFTER_SAMPLES = 160;

/** Shortly before the trouble: nothing may fire. */
export const QUIET_AT = "69m";
/** The trouble is half a minute old, less than any alert's `for`: nothing may fire. */
export const TOO_EARLY = "70m30s";
/** The trouble lasts. */
export const FIRES_AT = "99m";
/** The trouble is over for more than an hour, longer than any rule looks back. */
export const CLEARS_AT = "178m";

/** A value that goes from `well` to `ill` and back. */
export function level(well: number, ill: number): string {
  return `${well}x${WELL_SAMPLES - 1} ${ill}x${ILL_SAMPLES - 1} ${well}x${AFTER_SAMPLES - 1}`;
}

/** A counter that rises by so many a second. */
export function rising(well: number, ill: number): string {
  const [slow, fast] = [well * INTERVAL_SECONDS, ill * INTERVAL_SECONDS];
  const begins = slow * WELL_SAMPLES;
  const ends = begins + fast * ILL_SAMPLES;
  return `0+${slow}x${WELL_SAMPLES - 1} ${begins}+${fast}x${ILL_SAMPLES - 1} ${ends}+${slow}x${AFTER_SAMPLES - 1}`;
}

/**
 * A series that is not there until the trouble begins, as a counter is that nobody has raised; then
 * it stays at `value`.
 */
export function appearing(value: number): string {
  return `_x${WELL_SAMPLES} ${value}x${ILL_SAMPLES + AFTER_SAMPLES - 1}`;
}

/** A series that is not there while there is trouble. */
export function missing(value: number): string {
  return `${value}x${WELL_SAMPLES - 1} stale _x${ILL_SAMPLES - 1} ${value}x${AFTER_SAMPLES - 1}`;
}

/** The age in seconds of a process that begins anew every minute while there is trouble. */
export function restarting(): string {
  const ill = Array.from({ length: ILL_SAMPLES }, (_, sample) => (sample % 2) * INTERVAL_SECONDS);
  return `0+${INTERVAL_SECONDS}x${WELL_SAMPLES - 1} ${ill.join(" ")} 0+${INTERVAL_SECONDS}x${AFTER_SAMPLES - 1}`;
}
