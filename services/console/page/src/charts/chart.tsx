import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { short } from "../format.ts";
import { currentZone } from "../time-zone.ts";

/** Returns the current colour of a custom property of the style sheet. */
export type Colour = (property: string) => string;

interface ChartProps {
  /** Text alternative of the chart. */
  readonly label: string;
  readonly heightPx: number;
  readonly data: uPlot.AlignedData;
  /**
   * Makes the options of the chart; called when `lookKey`, `heightPx`, the colours or the time zone
   * change.
   */
  readonly look: (colour: Colour) => Omit<uPlot.Options, "width" | "height">;
  /**
   * Identity of the options. While `lookKey`, `heightPx`, the colours and the time zone stay the
   * same, only the data is replaced.
   */
  readonly lookKey: string;
}

/** Whether the browser prefers dark colours; a change renders the component again. */
function useDark(): boolean {
  const [query] = useState(() => matchMedia("(prefers-color-scheme: dark)"));
  const [dark, setDark] = useState(query.matches);
  useEffect(() => {
    const changed = (): void => setDark(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, [query]);
  return dark;
}

/** A chart as wide as its container, in the colours of the style sheet. */
export function Chart({ label, heightPx, data, look, lookKey }: ChartProps) {
  const container = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const latest = useRef({ data, look });
  latest.current = { data, look };
  const dark = useDark();
  const zone = currentZone();
  // Runs before the next frame, so that a chart is never shown in the colours of the other scheme.
  useLayoutEffect(() => {
    const host = container.current;
    if (host === null) return undefined;
    const styles = getComputedStyle(host);
    const options = latest.current.look((property) => styles.getPropertyValue(property).trim());
    const made = new uPlot(
      { tzDate, ...options, width: host.clientWidth, height: heightPx },
      latest.current.data,
      host,
    );
    chart.current = made;
    const sizes = new ResizeObserver(() => made.setSize({ width: host.clientWidth, height: heightPx }));
    sizes.observe(host);
    return () => {
      sizes.disconnect();
      made.destroy();
      chart.current = null;
    };
  }, [lookKey, dark, zone, heightPx]);
  useEffect(() => {
    chart.current?.setData(data);
  }, [data]);
  return <div ref={container} class="chart" role="img" aria-label={label} />;
}

/** The local time by which uPlot places the labels of a time axis: that of the chosen time zone. */
function tzDate(seconds: number): Date {
  return uPlot.tzDate(new Date(seconds * 1000), currentZone());
}

const AXIS_FONT = "12px system-ui, sans-serif";

/** An axis in the colours of the style sheet; `more.size`: space for its labels, in pixels. */
export function axis(colour: Colour, more: uPlot.Axis): uPlot.Axis {
  const line = colour("--line");
  return {
    font: AXIS_FONT,
    stroke: colour("--quiet"),
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1, size: 4 },
    ...more,
  };
}

/**
 * The labels of an axis, whose `amounts` are `step` apart: compact (`12.5K`) with a step from 1,000
 * on, otherwise full numbers. Full numbers too if two compact labels are equal.
 */
export function labelsOf(amounts: readonly number[], step: number): string[] {
  const compact = amounts.map(short);
  if (step >= 1_000 && new Set(compact).size === compact.length) return compact;
  const decimals = step < 1 ? 2 : 0;
  const format = new Intl.NumberFormat(undefined, { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return amounts.map((amount) => format.format(amount));
}
