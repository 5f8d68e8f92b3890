/**
 * The value of a `datetime-local` input for a time in UTC: in the browser's time zone. Empty if the
 * time is missing or malformed.
 */
export function localTime(iso: string | null): string {
  const date = new Date(iso ?? "");
  if (Number.isNaN(date.getTime())) return "";
  const two = (part: number): string => String(part).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`;
}

/**
 * The time in UTC for the value of a `datetime-local` input, which is in the browser's time zone;
 * empty for an empty value.
 */
export function timeInUtc(value: string): string {
  return value === "" ? "" : new Date(value).toISOString();
}
