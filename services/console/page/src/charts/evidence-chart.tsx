import { useMemo } from "preact/hooks";
import uPlot from "uplot";

import type { BreachEvidence } from "../api/shapes.ts";
import { clockTime } from "../format.ts";
import { currentZone } from "../time-zone.ts";
import { axis, Chart, type Colour, labelsOf } from "./chart.tsx";
import { type EvidenceLines, evidenceLines, type Point } from "./evidence-lines.ts";

const HEIGHT_PX = 300;
const PAPER_HEIGHT_PX = 250;
/** The chart for printing is drawn this many times larger, and is then scaled down to be sharp. */
const PAPER_SCALE = 2;
const TIMES_PX = 32;
const NUMBERS_PX = 76;
const FONT_PX = 12;
const BREACH_RADIUS_PX = 5;
const EXTREME_RADIUS_PX = 8;
const BREACH_DASH_PX = 4;
/** Each value has a dot if `values` has at most this many entries. The null at each end counts. */
const MAX_POINTS = 60;
/** Allowed distances between two labels of the time axis. */
const TIME_STEPS_S = [1, 2, 5, 10, 15, 20, 30, 60];

/**
 * The value that the rule compares (equity or balance), from a minute before a breach to a minute
 * after the breach. The chart also has the threshold, and the reference: the value from which the
 * rule counts the loss or profit. A second chart, in light colours, is only for printing.
 */
export function EvidenceChart({ document }: { readonly document: BreachEvidence }) {
  const lines = useMemo(() => evidenceLines(document), [document]);
  const { times, values, thresholds, references, isReferenceShown } = lines;
  const data = useMemo<uPlot.AlignedData>(
    () => [times, values, thresholds, ...(isReferenceShown ? [references] : [])],
    [times, values, thresholds, references, isReferenceShown],
  );
  const { compared, side, id } = document.breach;
  const isLoss = side === "atOrBelow";
  const name = compared === "equity" ? "Equity" : "Balance";
  return (
    <figure class="figure">
      <div class="screen-only">
        <Chart
          label={`${name} of account ${document.accountNumber} from a minute before the breach to a minute after it`}
          heightPx={HEIGHT_PX}
          data={data}
          lookKey={id}
          look={(colour) => looks(lines, colour, 1)}
        />
      </div>
      <div class="paper-chart light" aria-hidden="true">
        <div class="enlarged">
          <Chart
            label={name}
            heightPx={PAPER_HEIGHT_PX * PAPER_SCALE}
            data={data}
            lookKey={id}
            look={(colour) => looks(lines, colour, PAPER_SCALE)}
          />
        </div>
      </div>
      <figcaption class="legend">
        <span class="legend-item">
          <span class="swatch equity" /> {name}
        </span>
        <span class="legend-item">
          <span class="swatch threshold" /> Threshold
        </span>
        {isReferenceShown ? (
          <span class="legend-item">
            <span class="swatch balance" /> Reference
          </span>
        ) : null}
        <span class="legend-item">
          <span class="swatch breach" /> Breach
        </span>
        <span class="legend-item">
          <span class="swatch extreme" /> {isLoss ? "Lowest" : "Highest"}
        </span>
        <span class="quiet">
          Times in {currentZone()}.
          {isReferenceShown ? "" : ` The reference is ${isLoss ? "above" : "below"} the chart.`}
        </span>
      </figcaption>
    </figure>
  );
}

function looks(lines: EvidenceLines, colour: Colour, scale: number): Omit<uPlot.Options, "width" | "height"> {
  const { fromS, toS, amounts, isReferenceShown, values } = lines;
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  const font = `${FONT_PX * scale}px system-ui, sans-serif`;
  const line = { points: { show: false } };
  return {
    scales: { x: { range: [fromS, toS] }, y: { range: [...amounts] } },
    cursor: { show: false },
    legend: { show: false },
    axes: [
      axis(colour, {
        font,
        size: TIMES_PX * scale,
        space: 90 * scale,
        incrs: TIME_STEPS_S,
        values: (_chart, splits) => splits.map(clockTime),
      }),
      axis(colour, {
        font,
        size: NUMBERS_PX * scale,
        space: 30 * scale,
        values: (_chart, splits, _index, _space, step) => labelsOf(splits, step),
      }),
    ],
    series: [
      {},
      {
        stroke: colour("--accent"),
        width: 2 * scale,
        points: { show: values.length <= MAX_POINTS, size: 4 * scale, fill: colour("--accent") },
        ...(stepped === undefined ? {} : { paths: stepped }),
      },
      { ...line, stroke: colour("--bad"), width: 2 * scale, dash: [8 * scale, 4 * scale] },
      ...(isReferenceShown
        ? [{ ...line, stroke: colour("--quiet"), width: 1.5 * scale, dash: [3 * scale, 3 * scale] }]
        : []),
    ],
    hooks: { draw: [(chart) => drawMarkers(chart, lines, colour, scale)] },
  };
}

/** A vertical line and a dot at the breach, and a ring around the most extreme value. */
function drawMarkers(chart: uPlot, { breach, extreme }: EvidenceLines, colour: Colour, scale: number): void {
  const { ctx, bbox } = chart;
  const ratio = uPlot.pxRatio * scale;
  const positionOf = ({ timeS, value }: Point) =>
    [chart.valToPos(timeS, "x", true), chart.valToPos(value, "y", true)] as const;
  ctx.save();
  ctx.strokeStyle = colour("--bad");
  ctx.fillStyle = colour("--bad");
  const [breachX, breachY] = positionOf(breach);
  ctx.lineWidth = ratio;
  ctx.setLineDash([BREACH_DASH_PX * ratio, BREACH_DASH_PX * ratio]);
  ctx.beginPath();
  ctx.moveTo(breachX, bbox.top);
  ctx.lineTo(breachX, bbox.top + bbox.height);
  ctx.stroke();
  ctx.beginPath();
  ctx.arc(breachX, breachY, BREACH_RADIUS_PX * ratio, 0, 2 * Math.PI);
  ctx.fill();
  const [extremeX, extremeY] = positionOf(extreme);
  ctx.setLineDash([]);
  ctx.strokeStyle = colour("--text");
  ctx.lineWidth = 2 * ratio;
  ctx.beginPath();
  ctx.arc(extremeX, extremeY, EXTREME_RADIUS_PX * ratio, 0, 2 * Math.PI);
  ctx.stroke();
  ctx.restore();
}
