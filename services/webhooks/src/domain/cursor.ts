const FORM = /^e[0-9a-z]{1,11}$/;
const RADIX = 36;

/**
 * The cursor after the event at `position` of an organization's feed; 0 is before the first event.
 */
export function cursorOf(position: number): string {
  return `e${position.toString(RADIX)}`;
}

/** The position that a cursor names; null for a malformed cursor. */
export function positionOf(cursor: string): number | null {
  if (!FORM.test(cursor)) return null;
  const position = Number.parseInt(cursor.slice(1), RADIX);
  return Number.isSafeInteger(position) ? position : null;
}
