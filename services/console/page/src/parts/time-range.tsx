import { useMemo } from "preact/hooks";

import { minuteMoment, zoneName } from "../format.ts";
import { currentZone, fromLocalInput, toLocalInput } from "../time-zone.ts";
import { Field } from "./field.tsx";
import { SelectField } from "./select-field.tsx";
import { type RangeName, rangeIn, RANGES, type SpanFields, type TimeSpan, spanFields, spanOf } from "./ranges.ts";
import type { UrlState } from "./url-state.ts";

/** The range of a list, with its texts for a query. */
interface ShownRange extends SpanFields {
  readonly name: RangeName;
  readonly span: TimeSpan;
}

/**
 * The range that the address names. Its times do not follow the clock: they are computed again when
 * the range in the address, the time zone or `round` changes. `round` counts the reloads of the
 * list.
 */
export function useTimeRange(state: UrlState, initial: RangeName = "all", round = 0): ShownRange {
  const zone = currentZone();
  const name = rangeIn(state, initial);
  const from = state.get("from");
  const to = state.get("to");
  const asked = useMemo(() => ({ name, zone, round, nowMs: Date.now() }), [name, zone, round]);
  return useMemo(() => {
    const span = spanOf(asked.name, { from, to }, asked.zone, asked.nowMs);
    return { name: asked.name, span, ...spanFields(span) };
  }, [asked, from, to]);
}

interface TimeRangeProps {
  readonly state: UrlState;
  readonly range: ShownRange;
  /** The ranges to choose from; {@link USUAL_NAMES} if absent. */
  readonly names?: readonly RangeName[];
  /** Label of the choice; "Time" if absent. */
  readonly label?: string;
}

/**
 * All ranges except `utcDay`. Only the page of breaches has `utcDay`, because the overview counts
 * the breaches of a UTC day.
 */
const USUAL_NAMES = (Object.keys(RANGES) as RangeName[]).filter((name) => name !== "utcDay");

/** Filters a list by time. Shows the start and end of the range to the minute, with the zone. */
export function TimeRange({ state, range: { name, span }, names = USUAL_NAMES, label = "Time" }: TimeRangeProps) {
  const choose = (chosen: RangeName): void => {
    if (chosen !== "custom") return state.set({ range: chosen, from: null, to: null });
    const { fromMs, toMs } = span;
    state.set({ range: chosen, ...customFields({ fromMs, toMs: toMs ?? Date.now() }) });
  };
  return (
    <>
      <SelectField
        label={label}
        value={name}
        options={names.map((known) => [known, RANGES[known]] as const)}
        choose={(chosen) => choose(chosen as RangeName)}
      />
      {name === "custom" ? (
        <>
          <Instant label="From" ms={span.fromMs} set={(fromMs) => state.set(customFields({ ...span, fromMs }))} />
          <Instant label="To" ms={span.toMs} set={(toMs) => state.set(customFields({ ...span, toMs }))} />
        </>
      ) : null}
      <span class="range quiet">{inWords(span)}</span>
    </>
  );
}

function customFields({ fromMs, toMs }: TimeSpan) {
  const text = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
  return { from: text(fromMs), to: text(toMs) };
}

function inWords({ fromMs, toMs }: TimeSpan): string {
  if (fromMs === null && toMs === null) return "";
  const zone = currentZone();
  // Each time ends with the short name of its zone. A suffix would name UTC twice.
  const suffix = zoneName(zone, fromMs ?? toMs ?? 0) === zone ? "" : ` (${zone})`;
  if (fromMs === null) return `Before ${minuteMoment(toMs ?? 0)}${suffix}`;
  if (toMs === null) return `Since ${minuteMoment(fromMs)}${suffix}`;
  return `${minuteMoment(fromMs)} to ${minuteMoment(toMs)}${suffix}`;
}

interface InstantProps {
  readonly label: string;
  readonly ms: number | null;
  readonly set: (ms: number | null) => void;
}

/** One end of a range, as a local time of the chosen zone. */
export function Instant({ label, ms, set }: InstantProps) {
  const zone = currentZone();
  return (
    <Field label={`${label} (${zone})`}>
      {(tied) => (
        <input
          {...tied}
          type="datetime-local"
          value={ms === null ? "" : toLocalInput(zone, ms)}
          onChange={({ currentTarget }) => set(fromLocalInput(zone, currentTarget.value))}
        />
      )}
    </Field>
  );
}
