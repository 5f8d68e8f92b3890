/** Formats numbers and times for the viewer's language. */

const CREDITS = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const PERCENT = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });
const AMOUNT = new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const EXACT_PERCENT = new Intl.NumberFormat(undefined, { maximumFractionDigits: 4 });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const ZONED_CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "long" });
const ZONED_MOMENT = new Intl.DateTimeFormat(undefined, {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  timeZoneName: "short",
});
// A day of the API is a day in UTC, in any time zone of the viewer.
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });
const LONG_DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const moneyFormats = new Map<string, Intl.NumberFormat>();

/** Credits, a whole number. */
export function credits(amount: number): string {
  return CREDITS.format(amount);
}

/** A compact count or amount, for the axis of a chart. */
export function short(amount: number): string {
  return SHORT.format(amount);
}

/** An amount of money in units of `currency`, an ISO 4217 code; null: unknown. */
export function money(amount: number, currency: string | null): string {
  if (currency === null) return AMOUNT.format(amount);
  let format = moneyFormats.get(currency);
  if (format === undefined) {
    format = new Intl.NumberFormat(undefined, { style: "currency", currency, currencyDisplay: "narrowSymbol" });
    moneyFormats.set(currency, format);
  }
  return format.format(amount);
}

/** A number of percent. */
export function percent(amount: number): string {
  return `${PERCENT.format(amount)} %`;
}

/** A number of percent with all decimals of a limit. */
export function exactPercent(amount: number): string {
  return `${EXACT_PERCENT.format(amount)} %`;
}

/** A time in the viewer's time zone. */
export function moment(iso: string): string {
  return MOMENT.format(new Date(iso));
}

/** A time in the viewer's time zone with milliseconds, and the name of the zone. */
export function zonedMoment(iso: string): string {
  return ZONED_MOMENT.format(new Date(iso));
}

/** The time of a day in the viewer's time zone, and the name of the zone. */
export function zonedClock(ms: number): string {
  return ZONED_CLOCK.format(ms);
}

/** The viewer's time zone: `Europe/Prague`. */
export function viewersTimeZone(): string {
  return MOMENT.resolvedOptions().timeZone;
}

/** A time in UTC with milliseconds. */
export function exactMomentInUtc(iso: string): string {
  return `${new Date(iso).toISOString().slice(0, 23).replace("T", " ")} UTC`;
}

/** A time in UTC. */
export function momentInUtc(iso: string): string {
  return `${new Date(iso).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** A day given as `2026-11-21`. */
export function day(date: string): string {
  return DAY.format(new Date(date));
}

/** A day given as `2026-11-21`, with its year. */
export function longDay(date: string): string {
  return LONG_DAY.format(new Date(date));
}
