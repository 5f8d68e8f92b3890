const FORM = /^e[0-9a-z]{1,11}$/;
const RADIX = 36;

/**
 * The cursor behind the event at `position` of an organization's feed; 0 is before the first one.
 */
export function cursorOf(position: number): string {
  return `e${position.toString(RADIX)}`;
}

/** The position that a cursor names; null for a text that is none. */
export function positionOf(cursor: string): number | null {
  if (!FORM.test(cursor)) return null;
  const position = Number.parseInt(cursor.slice(1), RADIX);
  return Number.isSafeInteger(position) ? position : null;
}
