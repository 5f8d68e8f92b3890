/**
 * SQL for a `timestamptz` as ISO 8601 text in UTC with PostgreSQL's full precision, microseconds. A
 * Date would round it.
 */
export function instantText(time: string): string {
  return `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}
