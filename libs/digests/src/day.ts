/** Days in UTC, as `YYYY-MM-DD`. An earlier day is the smaller text. */

const DAY_MS = 86_400_000;
const DAY_CHARACTERS = 10;

/** The day of a time: milliseconds, a Date, or ISO 8601 text in UTC. */
export function utcDay(time: number | Date | string): string {
  const text = typeof time === "string" ? time : new Date(time).toISOString();
  return text.slice(0, DAY_CHARACTERS);
}

/** The day that begins `days` after the beginning of `day`. */
export function addDays(day: string, days: number): string {
  return utcDay(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS);
}

/** All days from `from` to `through`, both inclusive. */
export function daysBetween(from: string, through: string): string[] {
  const days: string[] = [];
  for (let day = from; day <= through; day = addDays(day, 1)) days.push(day);
  return days;
}
