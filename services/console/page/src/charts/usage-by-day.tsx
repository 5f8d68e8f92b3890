import uPlot from "uplot";

import { credits, day, longDay, short } from "../format.ts";
import { type Column, Table } from "../parts/table.tsx";
import { axis, Chart, type Colour } from "./chart.tsx";
import { type DayUsage, type Layer, stack } from "./stack.ts";

const HEIGHT_PX = 240;
/** Share of a day's space that its bar fills, and the bar's maximum width in pixels. */
const BAR: [number, number] = [0.7, 36];
/** Space for one day label, in pixels. */
const LABEL_PX = 64;
const NUMBERS_PX = 52;
const DAYS_PX = 32;

/**
 * Credits used by day and operation: a stacked chart, its legend, and a table of exact numbers,
 * which can be negative on a day with refunds.
 */
export function UsageByDay({ days }: { readonly days: readonly DayUsage[] }) {
  const layers = stack(days);
  if (layers.length === 0) return <p class="quiet">No credits were used in these {days.length} days.</p>;
  const total = layers.reduce((sum, layer) => sum + layer.credits.reduce((a, b) => a + b, 0), 0);
  // The highest edges are drawn first; each lower layer covers the part below its own edge.
  const behind = layers.toReversed();
  const data: uPlot.AlignedData = [days.map((_, index) => index), ...behind.map(({ tops }) => tops)];
  const key = [days.length, days[0]?.day, ...layers.map(({ name }) => name)].join(" ");
  return (
    <figure class="figure">
      <Chart
        label={`Credits used by day and operation: ${credits(total)} in ${days.length} days`}
        heightPx={HEIGHT_PX}
        data={data}
        lookKey={key}
        look={(colour) => looks(days, layers.length, colour)}
      />
      <figcaption>
        <Legend layers={layers} />
      </figcaption>
      <details>
        <summary>Show as table</summary>
        <div class="scrolls" tabIndex={0} role="region" aria-label="Credits used by day and operation">
          <Table caption="Credits used by day and operation" columns={COLUMNS} rows={rowsOf(days)} keyOf={keyOf} />
        </div>
      </details>
    </figure>
  );
}

function looks(days: readonly DayUsage[], layers: number, colour: Colour): Omit<uPlot.Options, "width" | "height"> {
  const bars = uPlot.paths.bars?.({ size: BAR });
  const labels = days.map((of) => day(of.day));
  return {
    scales: {
      x: { time: false, range: [-0.5, days.length - 0.5] },
      y: { range: (_chart, _low, high) => [0, Math.max(high * 1.05, 1)] },
    },
    cursor: { show: false },
    legend: { show: false },
    axes: [
      axis(colour, {
        size: DAYS_PX,
        grid: { show: false },
        incrs: [1, 2, 5, 7, 10, 15, 30],
        space: LABEL_PX,
        values: (_chart, splits) => splits.map((index) => labels[index] ?? ""),
      }),
      axis(colour, { size: NUMBERS_PX, values: (_chart, splits) => splits.map(short) }),
    ],
    series: [
      {},
      ...Array.from({ length: layers }, (_, index) => ({
        fill: colour(`--layer-${layers - index}`),
        width: 0,
        points: { show: false },
        ...(bars === undefined ? {} : { paths: bars }),
      })),
    ],
  };
}

function Legend({ layers }: { readonly layers: readonly Layer[] }) {
  return (
    <ul class="legend">
      {layers.map(({ name, credits: amounts }, index) => (
        <li key={name}>
          <span class={`swatch layer-${index + 1}`} />
          <span class="legend-name">{name}</span>
          <span class="number">{credits(amounts.reduce((a, b) => a + b, 0))}</span>
        </li>
      ))}
    </ul>
  );
}

interface Row {
  readonly day: string;
  readonly operation: string;
  readonly requests: number;
  readonly credits: number;
}

const COLUMNS: readonly Column<Row>[] = [
  { head: "Day (UTC)", cell: (row) => longDay(row.day) },
  { head: "Operation", cell: (row) => row.operation },
  { head: "Requests", numeric: true, cell: (row) => credits(row.requests) },
  { head: "Credits", numeric: true, cell: (row) => credits(row.credits) },
];

function rowsOf(days: readonly DayUsage[]): Row[] {
  return days.toReversed().flatMap((of) => of.operations.map((used) => ({ day: of.day, ...used })));
}

function keyOf(row: Row): string {
  return `${row.day} ${row.operation}`;
}
