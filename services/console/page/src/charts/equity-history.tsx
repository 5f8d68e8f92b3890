/**
 * The equity of an account: its stored history, continued by live samples in one chart, and the
 * newest values.
 */
import { useEffect, useMemo, useState } from "preact/hooks";
import uPlot from "uplot";

import { useApi } from "../api/context.ts";
import type { ConsoleEquityHistory, EquityRange, TradingAccount } from "../api/shapes.ts";
import { clockTime, credits as whole, dayTime, minuteTime, money, percent } from "../format.ts";
import { type Connection, useLive } from "../parts/live-account.ts";
import { liveValues } from "../parts/live-values.ts";
import { Empty, Loaded } from "../parts/notice.tsx";
import { useUrlState } from "../parts/url-state.ts";
import { type Data, useData } from "../parts/use-data.ts";
import { Ago, Detail, DetailList, Money, Nothing } from "../parts/values.tsx";
import { currentZone } from "../time-zone.ts";
import { axis, Chart, type Colour, labelsOf } from "./chart.tsx";
import { equityRows, type EquityRow, type EquitySummary, summaryOf } from "./equity-lines.ts";
import { EquityTable } from "./equity-table.tsx";
import { amountsShown } from "./samples.ts";

const HEIGHT_PX = 280;
const NUMBERS_PX = 72;
const TIMES_PX = 32;
/** About the height of the chart, in lines of text. */
const SKELETON_LINES = 12;
/** Interval in which the lines are extended to the present time. */
const TICK_MS = 1_000;
/** Opacity of the shaded drawdown, as the last two digits of a colour. */
const SHADE = "2e";

const MINUTE_S = 60;
const HOUR_S = 3_600;
const DAY_S = 86_400;
/** Allowed distances between two labels of the time axis. */
const TIME_STEPS_S = [
  1,
  2,
  5,
  10,
  15,
  30,
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE_S),
  ...[1, 2, 3, 4, 6, 12].map((hours) => hours * HOUR_S),
  ...[1, 2, 5, 10].map((days) => days * DAY_S),
];

interface Range {
  readonly title: string;
  readonly words: string;
  readonly lengthMs: number;
  /**
   * Interval in which the history is read again. It is shorter than the time for which live samples
   * are kept: ten minutes at one sample a second.
   */
  readonly againMs: number;
}

const RANGES: Readonly<Record<EquityRange, Range>> = {
  hour: { title: "Hour", words: "last hour", lengthMs: 3_600_000, againMs: 60_000 },
  day: { title: "Day", words: "last 24 hours", lengthMs: 86_400_000, againMs: 300_000 },
  month: { title: "30 days", words: "last 30 days", lengthMs: 30 * 86_400_000, againMs: 300_000 },
};
const RANGE_NAMES = Object.keys(RANGES) as EquityRange[];
const FIRST_RANGE: EquityRange = "hour";

const WORDS: Readonly<Record<Connection, string>> = {
  connecting: "Connecting…",
  live: "Live",
  lost: "Connection lost. Reconnecting…",
  deleted: "This account was deleted.",
};

/** Equity and balance of an account over an hour, a day or 30 days, up to now. */
export function EquityHistory({ account }: { readonly account: TradingAccount }) {
  const { serverId, accountNumber, currency } = account;
  const state = useUrlState("equity.");
  const range = RANGE_NAMES.find((name) => name === state.get("range")) ?? FIRST_RANGE;
  const { connection, samples } = useLive(serverId, accountNumber);
  const history = useHistory(serverId, accountNumber, range);
  const nowMs = useNow(connection === "live");
  const { lengthMs, words } = RANGES[history.value?.range ?? range];
  const rows = useMemo(() => {
    const loaded = history.value;
    const now = loaded === null ? nowMs : Date.parse(loaded.answer.now) + Math.max(nowMs - loaded.cameMs, 0);
    const endMs = Math.max(now, Date.parse(samples.at(-1)?.measuredAt ?? "1970-01-01"));
    return equityRows(loaded?.answer ?? null, samples, { startMs: endMs - lengthMs, endMs });
  }, [history.value, samples, nowMs, lengthMs]);
  const summary = useMemo(() => summaryOf(rows), [rows]);
  const data = useMemo(() => linesOf(rows), [rows]);
  const isSettled = history.value !== null || history.failure !== null;
  return (
    <figure class="figure">
      <div class="figure-head">
        <p class="live-head">
          <span class={`lamp ${connection}`} />
          <span role="status">{WORDS[connection]}</span>
        </p>
        <div class="choice" role="group" aria-label="Time of the chart">
          {RANGE_NAMES.map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === range}
              onClick={() => state.set({ range: name === FIRST_RANGE ? null : name })}
            >
              {RANGES[name].title}
            </button>
          ))}
        </div>
      </div>
      <Newest account={liveValues(account, samples.at(-1))} />
      <Loaded data={history} what="the equity history" lines={SKELETON_LINES}>
        {() => null}
      </Loaded>
      {!isSettled ? null : summary === null ? (
        <Empty>{emptyText(account, history.failure === null)}</Empty>
      ) : (
        <>
          <Chart
            label={`Equity and balance of account ${accountNumber} in the ${words}`}
            heightPx={HEIGHT_PX}
            data={data}
            lookKey="equity"
            look={looks}
          />
          <Legend samples={samples.length} />
          <Summary summary={summary} words={words} currency={currency} />
          <EquityTable points={history.value?.answer.points ?? []} words={words} currency={currency} />
        </>
      )}
    </figure>
  );
}

function emptyText({ activatedAt }: TradingAccount, isLoaded: boolean): string {
  if (!isLoaded) return "The chart begins with the first live sample.";
  if (activatedAt === null) return "This account is not open yet. The chart begins when it is opened.";
  return (
    "The equity of this account did not change in the last 30 days. The chart begins when a position, a deposit or a " +
    "withdrawal changes it."
  );
}

interface LoadedHistory {
  readonly range: EquityRange;
  readonly answer: ConsoleEquityHistory;
  /** Arrival of the answer, by the browser's clock, in milliseconds. */
  readonly cameMs: number;
}

/**
 * The history of a range. While the page is visible, the history is read again at intervals. It is
 * also read again when the page becomes visible.
 */
function useHistory(serverId: string, accountNumber: string, range: EquityRange): Data<LoadedHistory> {
  const api = useApi();
  const history = useData(`${serverId} ${accountNumber} ${range}`, async (signal) => {
    const answer = await api.equityHistory(serverId, accountNumber, range, signal);
    return { range, answer, cameMs: Date.now() };
  });
  const { reload } = history;
  useEffect(() => {
    const again = (): void => {
      if (document.visibilityState === "visible") reload();
    };
    const timer = setInterval(again, RANGES[range].againMs);
    document.addEventListener("visibilitychange", again);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", again);
    };
  }, [reload, range]);
  return history;
}

/** The time, in milliseconds; renders the component every second while `running`. */
function useNow(running: boolean): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    if (!running) return undefined;
    const timer = setInterval(() => setNowMs(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [running]);
  return nowMs;
}

function Newest({ account }: { readonly account: TradingAccount }) {
  const { currency, marginLevel } = account;
  return (
    <DetailList>
      <Detail name="Equity">
        <strong>
          <Money amount={account.equity} currency={currency} />
        </strong>
      </Detail>
      <Detail name="Balance">
        <Money amount={account.balance} currency={currency} />
      </Detail>
      <Detail name="Free margin">
        <Money amount={account.freeMargin} currency={currency} />
      </Detail>
      <Detail name="Margin in use">
        <Money amount={account.usedMargin} currency={currency} />
      </Detail>
      <Detail name="Margin level">
        {marginLevel === null ? <Nothing /> : <span class="number">{percent(marginLevel)}</span>}
      </Detail>
      <Detail name="Open positions">{whole(account.openPositionCount)}</Detail>
      <Detail name="Measured">
        <Ago at={account.metricsMeasuredAt} />
      </Detail>
    </DetailList>
  );
}

function Legend({ samples }: { readonly samples: number }) {
  const entries = [
    ["equity", "Equity"],
    ["balance", "Balance"],
    ["peak", "Highest equity so far"],
    ["lowest", "Lowest equity"],
    ["drawdown", "Drawdown"],
  ] as const;
  return (
    <figcaption class="legend">
      {entries.map(([look, name]) => (
        <span key={look} class="legend-item">
          <span class={`swatch ${look}`} /> {name}
        </span>
      ))}
      <span class="quiet" data-samples={samples}>
        {samples === 1 ? "1 live sample" : `${samples} live samples`} in this page. Times in {currentZone()}.
      </span>
    </figcaption>
  );
}

interface SummaryProps {
  readonly summary: EquitySummary;
  readonly words: string;
  readonly currency: string;
}

/** The chart in numbers: its text alternative. */
function Summary({ summary: { change, lowest, highest, drawdown }, words, currency }: SummaryProps) {
  const { from, to } = drawdown;
  const share = from > 0 ? ` (${percent(((from - to) / from) * 100)})` : "";
  return (
    <section aria-label={`Equity in the ${words}`}>
      <DetailList>
        <Detail name={`Change in the ${words}`}>
          <Money amount={change} currency={currency} change />
        </Detail>
        <Detail name="Highest">
          <Money amount={highest} currency={currency} />
        </Detail>
        <Detail name="Lowest">
          <Money amount={lowest} currency={currency} />
        </Detail>
        <Detail name="Largest drawdown">
          <span class="number">
            {money(from - to, currency)}
            {share}
          </span>
        </Detail>
      </DetailList>
    </section>
  );
}

function linesOf(rows: readonly EquityRow[]): uPlot.AlignedData {
  return [
    rows.map(({ atMs }) => atMs / 1000),
    rows.map(({ drawdown }) => drawdown.from),
    rows.map(({ drawdown }) => drawdown.to),
    rows.map(({ lowest }) => lowest),
    rows.map(({ peak }) => peak),
    rows.map(({ balance }) => balance),
    rows.map(({ equity }) => equity),
  ];
}

function looks(colour: Colour): Omit<uPlot.Options, "width" | "height"> {
  const line = { points: { show: false } };
  const edge = { ...line, width: 0 };
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  const steps = stepped === undefined ? line : { ...line, paths: stepped };
  const shade = colour("--bad") + SHADE;
  return {
    scales: { y: { range: (_chart, low, high) => amountsShown(low, high) } },
    cursor: { show: false },
    legend: { show: false },
    axes: [
      axis(colour, {
        size: TIMES_PX,
        space: 80,
        incrs: TIME_STEPS_S,
        values: (_chart, splits, _index, _space, step) => splits.map(timeLabelled(step)),
      }),
      axis(colour, { size: NUMBERS_PX, values: (_chart, splits, _index, _space, step) => labelsOf(splits, step) }),
    ],
    // In the order of `linesOf`. A later series is drawn above an earlier one.
    series: [
      {},
      edge,
      edge,
      { ...line, stroke: colour("--bad"), width: 1 },
      { ...steps, stroke: colour("--good"), width: 1.5, dash: [2, 3] },
      { ...steps, stroke: colour("--quiet"), width: 1.5, dash: [5, 4] },
      { ...line, stroke: colour("--accent"), width: 2 },
    ],
    bands: [{ series: [1, 2], fill: shade }],
  };
}

/** The function that writes the labels of a time axis with this step, in seconds. */
function timeLabelled(step: number): (seconds: number) => string {
  if (step < MINUTE_S) return clockTime;
  return step < DAY_S ? minuteTime : dayTime;
}
