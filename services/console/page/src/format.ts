/** Formats numbers, money and times for the viewer's language, and times for the chosen zone. */
import { currentZone } from "./time-zone.ts";

/** The minus sign: as wide as a digit, unlike the hyphen that `Intl` writes. */
const MINUS = "−";
const CREDITS = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const PERCENT = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });
const EXACT_PERCENT = new Intl.NumberFormat(undefined, { maximumFractionDigits: 4 });
// Trading platforms have at most eight decimals. More would show binary rounding errors.
const DECIMAL = new Intl.NumberFormat(undefined, { maximumFractionDigits: 8 });
const DEFAULT_DECIMALS = 2;

const DATE: Intl.DateTimeFormatOptions = { year: "numeric", month: "short", day: "numeric" };
const CLOCK: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const ZONE: Intl.DateTimeFormatOptions = { timeZoneName: "short" };
const TIME_FORMATS = {
  moment: { ...DATE, ...CLOCK, ...ZONE },
  precise: { ...DATE, ...CLOCK, ...ZONE, fractionalSecondDigits: 3 },
  minute: { ...DATE, hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...ZONE },
  clock: { ...CLOCK, ...ZONE },
  bareClock: CLOCK,
  bareMinute: { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  bareDay: { day: "numeric", month: "short" },
  zone: { ...ZONE, hour: "2-digit" },
} as const satisfies Readonly<Record<string, Intl.DateTimeFormatOptions>>;
type TimeFormat = keyof typeof TIME_FORMATS;

// A day of the API is a day in UTC, in any time zone of the viewer.
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });
const LONG_DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });

const moneyFormats = new Map<string, Intl.NumberFormat>();
const timeFormats = new Map<string, Intl.DateTimeFormat>();

function timeFormat(name: TimeFormat, zone: string): Intl.DateTimeFormat {
  const key = `${name} ${zone}`;
  let format = timeFormats.get(key);
  if (format === undefined) {
    format = new Intl.DateTimeFormat(undefined, { ...TIME_FORMATS[name], timeZone: zone });
    timeFormats.set(key, format);
  }
  return format;
}

function withMinus(text: string): string {
  return text.replace("-", MINUS);
}

/** Credits, or another whole number. */
export function credits(amount: number): string {
  return withMinus(CREDITS.format(amount));
}

/** A whole number with its noun: `1 credit`, `1,234 credits`. */
export function counted(amount: number, one: string, many: string): string {
  return `${credits(amount)} ${amount === 1 ? one : many}`;
}

/** A compact count or amount, for the axis of a chart. */
export function short(amount: number): string {
  return withMinus(SHORT.format(amount));
}

/**
 * An amount of money: `−1,234.50 USD`. `currency` is an ISO 4217 code, which decides the number of
 * decimals. If `currency` is null, the result has two decimals and no code. An amount given as text
 * is not converted to a floating-point number.
 */
export function money(amount: number | string, currency: string | null): string {
  const key = currency ?? "";
  let format = moneyFormats.get(key);
  if (format === undefined) {
    const decimals = decimalsOf(currency);
    format = new Intl.NumberFormat(undefined, { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    moneyFormats.set(key, format);
  }
  const number = withMinus(format.format(amount as number));
  return currency === null ? number : `${number} ${currency}`;
}

/** An amount of money with the sign of a change: `+12.00 USD`. */
export function moneyChange(amount: number, currency: string | null): string {
  return amount > 0 ? `+${money(amount, currency)}` : money(amount, currency);
}

function decimalsOf(currency: string | null): number {
  if (currency === null) return DEFAULT_DECIMALS;
  const { maximumFractionDigits } = new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions();
  return maximumFractionDigits ?? DEFAULT_DECIMALS;
}

/** A volume or a price, with all its decimals. */
export function decimal(value: number): string {
  return withMinus(DECIMAL.format(value));
}

/** A percentage with up to two decimals: `12.5 %`. */
export function percent(amount: number): string {
  return `${withMinus(PERCENT.format(amount))} %`;
}

/**
 * A percentage with up to four decimals, as in risk rules. An amount given as text is not converted
 * to a floating-point number.
 */
export function exactPercent(amount: number | string): string {
  return `${withMinus(EXACT_PERCENT.format(amount as number))} %`;
}

/** A time in the chosen zone, with the name of the zone: `26 Nov 2026, 10:30:40 GMT+1`. */
export function moment(iso: string): string {
  return timeFormat("moment", currentZone()).format(new Date(iso));
}

/** A time in the chosen zone without seconds, with the name of the zone. */
export function minuteMoment(ms: number): string {
  return timeFormat("minute", currentZone()).format(ms);
}

/** A time in the chosen zone with milliseconds, and the name of the zone. */
export function zonedMoment(iso: string): string {
  return timeFormat("precise", currentZone()).format(new Date(iso));
}

/** The time of day in the chosen zone, with the name of the zone. */
export function zonedClock(ms: number): string {
  return timeFormat("clock", currentZone()).format(ms);
}

/** The time of day in the chosen zone, for the axis of a chart that names its zone. */
export function clockTime(seconds: number): string {
  return timeFormat("bareClock", currentZone()).format(seconds * 1000);
}

/** As {@link clockTime}, without seconds. */
export function minuteTime(seconds: number): string {
  return timeFormat("bareMinute", currentZone()).format(seconds * 1000);
}

/** The day in the chosen zone, for the axis of a chart that names its zone. */
export function dayTime(seconds: number): string {
  return timeFormat("bareDay", currentZone()).format(seconds * 1000);
}

/** The short name of a zone at a time: `GMT+1`. */
export function zoneName(zone: string, atMs: number): string {
  const parts = timeFormat("zone", zone).formatToParts(atMs);
  return parts.find(({ type }) => type === "timeZoneName")?.value ?? zone;
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

const AGE_STEPS = [
  { unit: "s", fromS: 0, sizeS: 1 },
  { unit: "min", fromS: 60, sizeS: 60 },
  { unit: "h", fromS: 3_600, sizeS: 3_600 },
  { unit: "d", fromS: 86_400, sizeS: 86_400 },
] as const;

/** How long ago or how far ahead a time is: `3 min ago`, `in 2 h`. */
export function relativeTime(atMs: number, nowMs: number): string {
  const seconds = Math.floor(Math.abs(nowMs - atMs) / 1000);
  const step = AGE_STEPS.findLast(({ fromS }) => seconds >= fromS) ?? AGE_STEPS[0];
  const size = `${credits(Math.floor(seconds / step.sizeS))} ${step.unit}`;
  return atMs > nowMs ? `in ${size}` : `${size} ago`;
}
