/**
 * The time zone in which the console shows all times. A person chooses the zone in the header. The
 * browser stores the choice of each person. A change renders the whole page again.
 */
const STORED = "kapi:time-zone:";
export const UTC = "UTC";
const DAY_MS = 86_400_000;

let person: string | null = null;
/** The choice of the person; null: the zone of the browser. */
let chosen: string | null = null;
let current = browsersZone();
const listeners = new Set<() => void>();

/** The time zone of the browser: `Europe/Prague`. */
export function browsersZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** The chosen time zone; that of the browser if nothing was chosen. */
export function currentZone(): string {
  return current;
}

/** Uses the zone that a person chose in this browser, or the browser's zone if none was chosen. */
export function loadZoneOf(userId: string): void {
  if (person === userId) return;
  person = userId;
  const stored = storedChoice(userId);
  choose(stored !== null && isZone(stored) ? stored : null);
}

/**
 * Chooses a time zone. Null: the zone of the browser. A later change of the browser's zone takes
 * effect when the page is loaded again.
 */
export function chooseZone(zone: string | null): void {
  if (person !== null) store(STORED + person, zone);
  choose(zone);
}

/** Whether the person chose a zone by its name. False: the zone of the browser is used. */
export function isZoneChosen(): boolean {
  return chosen !== null;
}

/** Calls `listener` after each change; returns the function that stops this. */
export function onZoneChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Whether the browser knows a zone of this name. */
export function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** Every IANA zone that the browser knows. */
export function allZones(): readonly string[] {
  return Intl.supportedValuesOf("timeZone");
}

const clocks = new Map<string, Intl.DateTimeFormat>();

/** The offset of a zone from UTC at a time, in milliseconds; positive east of Greenwich. */
export function offsetMs(zone: string, atMs: number): number {
  let clock = clocks.get(zone);
  if (clock === undefined) {
    clock = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
    clocks.set(zone, clock);
  }
  const of = new Map(clock.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
  const number = (type: Intl.DateTimeFormatPartTypes): number => of.get(type) ?? 0;
  const shown = Date.UTC(
    number("year"),
    number("month") - 1,
    number("day"),
    number("hour"),
    number("minute"),
    number("second"),
  );
  return shown - Math.floor(atMs / 1_000) * 1_000;
}

/**
 * The instant of a local time of a zone. `local` is the local time as if it were UTC, in
 * milliseconds. A local time that a clock change skips is moved forward by the length of the
 * change: 02:30 becomes 03:30. For a local time that occurs twice, the result is the first instant.
 */
export function instantOf(zone: string, local: number): number {
  const before = offsetMs(zone, local - DAY_MS);
  const after = offsetMs(zone, local + DAY_MS);
  const candidates = [local - before, local - after].filter((at) => at + offsetMs(zone, at) === local);
  return candidates.length === 0 ? local - before : Math.min(...candidates);
}

/**
 * Start of a day in a zone: of the day that contains the instant, or of the day that is `days` days
 * later. A negative `days` means earlier.
 */
export function startOfDay(zone: string, atMs: number, days = 0): number {
  const local = new Date(atMs + offsetMs(zone, atMs));
  return instantOf(zone, Date.UTC(local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate() + days));
}

/** Start of the month that contains an instant, in a zone. */
export function startOfMonth(zone: string, atMs: number): number {
  const local = new Date(atMs + offsetMs(zone, atMs));
  return instantOf(zone, Date.UTC(local.getUTCFullYear(), local.getUTCMonth(), 1));
}

/** The value of an `<input type="datetime-local">` for an instant: `2026-11-21T10:15`. */
export function toLocalInput(zone: string, atMs: number): string {
  return new Date(atMs + offsetMs(zone, atMs)).toISOString().slice(0, "2026-11-21T10:15".length);
}

/** The instant of the value of an `<input type="datetime-local">`; null if it is not complete. */
export function fromLocalInput(zone: string, text: string): number | null {
  const local = Date.parse(`${text}Z`);
  return Number.isNaN(local) ? null : instantOf(zone, local);
}

function choose(choice: string | null): void {
  const zone = choice ?? browsersZone();
  if (choice === chosen && zone === current) return;
  chosen = choice;
  current = zone;
  for (const listener of listeners) listener();
}

// Some browsers forbid storage: the choice then lasts until the page is loaded again.
function storedChoice(userId: string): string | null {
  try {
    return localStorage.getItem(STORED + userId);
  } catch {
    return null;
  }
}

function store(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // The browser forbids storage: see `storedChoice`.
  }
}
