/**
 * Live equity of an account: the stream of its samples, a chart, and the newest values.
 */
import { useEffect, useMemo, useState } from "preact/hooks";
import type uPlot from "uplot";

import { useApi } from "../api/context.ts";
import type { AccountMetricsFrame, LiveEnd } from "../api/shapes.ts";
import { clockTime, credits as whole, money, percent } from "../format.ts";
import { Ago, Detail, DetailList, Nothing } from "../parts/values.tsx";
import { currentZone } from "../time-zone.ts";
import { axis, Chart, type Colour, labelled } from "./chart.tsx";
import { amountsShown, keptWith, linesOf, NO_SAMPLES, type Samples } from "./samples.ts";

const HEIGHT_PX = 280;
const NUMBERS_PX = 72;
const TIMES_PX = 32;
/** Delay before a rejected or ended stream is opened again. */
const AGAIN_MS = 5_000;
/** Interval in which unchanged lines are extended. */
const TICK_MS = 1_000;

/** Allowed distances between two labels of the time axis. */
const TIME_STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600];

type Connection = "connecting" | "live" | "lost" | "deleted";
const WORDS: Readonly<Record<Connection, string>> = {
  connecting: "Connecting…",
  live: "Live",
  lost: "Connection lost. Reconnecting…",
  deleted: "This account was deleted.",
};

interface LiveProps {
  readonly serverId: string;
  readonly accountNumber: string;
  readonly currency: string;
}

/** The live part of the page of an account. */
export function LiveEquity({ serverId, accountNumber, currency }: LiveProps) {
  const { connection, samples } = useSamples(serverId, accountNumber);
  const nowMs = useNow(connection === "live");
  const data = useMemo<uPlot.AlignedData>(() => linesOf(samples, nowMs), [samples, nowMs]);
  const newest = samples.list.at(-1);
  return (
    <figure class="figure">
      <p class="live-head">
        <span class={`lamp ${connection}`} />
        <span role="status">{WORDS[connection]}</span>
      </p>
      <Newest sample={newest} currency={currency} />
      {newest === undefined ? (
        <p class="quiet">Waiting for the first sample. An account that has never traded has none.</p>
      ) : (
        <>
          <Chart
            label={`Equity and balance of account ${accountNumber} since this page was opened`}
            heightPx={HEIGHT_PX}
            data={data}
            lookKey="equity"
            look={looks}
          />
          <figcaption class="legend">
            <span class="legend-item">
              <span class="swatch equity" /> Equity
            </span>
            <span class="legend-item">
              <span class="swatch balance" /> Balance
            </span>
            <span class="quiet" data-samples={samples.list.length}>
              {samples.list.length === 1 ? "1 sample" : `${samples.list.length} samples`} since this page was opened.
              Times in {currentZone()}.
            </span>
          </figcaption>
        </>
      )}
    </figure>
  );
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

/** Streams the samples of an account from now on. */
function useSamples(
  serverId: string,
  accountNumber: string,
): { readonly connection: Connection; readonly samples: Samples } {
  const api = useApi();
  const [connection, setConnection] = useState<Connection>("connecting");
  const [samples, setSamples] = useState(NO_SAMPLES);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let source: EventSource;
    const openAgain = (): void => {
      source.close();
      setConnection("lost");
      timer = setTimeout(open, AGAIN_MS);
    };
    const open = (): void => {
      source = new EventSource(api.liveAddress(serverId, accountNumber));
      source.addEventListener("open", () => setConnection("live"));
      source.addEventListener("sample", ({ data }: MessageEvent<string>) => {
        const sample = JSON.parse(data) as AccountMetricsFrame;
        setSamples((before) => keptWith(before, sample, Date.now()));
      });
      source.addEventListener("end", ({ data }: MessageEvent<string>) => {
        const { reason } = JSON.parse(data) as LiveEnd;
        if (reason === "deleted") {
          source.close();
          setConnection("deleted");
          return;
        }
        openAgain();
        if (reason === "signed_out") api.checkSession();
      });
      source.addEventListener("error", () => {
        // The browser reconnects after a lost connection, but not after an error response.
        if (source.readyState !== EventSource.CLOSED) {
          setConnection("lost");
          return;
        }
        openAgain();
        api.checkSession();
      });
    };
    open();
    return () => {
      clearTimeout(timer);
      source.close();
    };
  }, [api, serverId, accountNumber]);
  return { connection, samples };
}

interface NewestProps {
  readonly sample: AccountMetricsFrame | undefined;
  readonly currency: string;
}

function Newest({ sample, currency }: NewestProps) {
  const inCurrency = (amount: number | undefined) =>
    amount === undefined ? <Nothing /> : <span class="number">{money(amount, currency)}</span>;
  // A margin level of 0 means that no margin is used: there is no margin level.
  const level = sample === undefined || sample.marginLevel === 0 ? null : sample.marginLevel;
  return (
    <DetailList>
      <Detail name="Equity">
        <strong>{inCurrency(sample?.equity)}</strong>
      </Detail>
      <Detail name="Balance">{inCurrency(sample?.balance)}</Detail>
      <Detail name="Free margin">{inCurrency(sample?.freeMargin)}</Detail>
      <Detail name="Margin in use">{inCurrency(sample?.margin)}</Detail>
      <Detail name="Margin level">{level === null ? <Nothing /> : <span class="number">{percent(level)}</span>}</Detail>
      <Detail name="Open positions">{sample === undefined ? <Nothing /> : whole(sample.openPositionCount)}</Detail>
      <Detail name="Measured">
        <Ago at={sample?.measuredAt} />
      </Detail>
    </DetailList>
  );
}

function looks(colour: Colour): Omit<uPlot.Options, "width" | "height"> {
  return {
    scales: { y: { range: (_chart, low, high) => amountsShown(low, high) } },
    cursor: { show: false },
    legend: { show: false },
    axes: [
      axis(colour, {
        size: TIMES_PX,
        space: 90,
        incrs: TIME_STEPS_S,
        values: (_chart, splits) => splits.map(clockTime),
      }),
      axis(colour, { size: NUMBERS_PX, values: (_chart, splits, _index, _space, step) => splits.map(labelled(step)) }),
    ],
    series: [
      {},
      { stroke: colour("--accent"), width: 2, points: { show: false } },
      { stroke: colour("--quiet"), width: 1.5, dash: [5, 4], points: { show: false } },
    ],
  };
}
