/**
 * SQL that returns a `timestamptz` as ISO 8601 text in UTC, with microseconds. `time` is an SQL
 * expression. A JavaScript Date would have only milliseconds.
 */
export function instantText(time: string): string {
  return `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}
