/** The overview: totals, and what needs attention, with links to the lists. */
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

import { useApi } from "../api/context.ts";
import type { ConsoleOverview } from "../api/shapes.ts";
import { percent } from "../format.ts";
import { Loaded, Notice } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { useData } from "../parts/use-data.ts";
import { AccountLink, Moment, Money } from "../parts/values.tsx";
import { Link } from "../router.tsx";
import { BREACHES_OF_UTC_DAY, RecentBreaches } from "./breaches.tsx";
import { NearLimits } from "./limits.tsx";
import { Attention, Totals } from "./overview-numbers.tsx";
import { Unavailable } from "./overview-part.tsx";

const REFRESH_MS = 10_000;
/** Height of the page while it is loading, in lines. */
const LINES = 24;

/** The overview, read again every ten seconds while the browser tab is visible. */
export function OverviewPage() {
  const api = useApi();
  const overview = useData("overview", (signal) => api.overview(signal));
  const { reload } = overview;
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, [reload]);
  return (
    <Page title="Overview">
      <Loaded data={overview} what="the overview" lines={LINES}>
        {(value) => <Parts overview={value} />}
      </Loaded>
    </Page>
  );
}

function Parts({ overview }: { readonly overview: ConsoleOverview }) {
  const { readAt, isDirectoryAvailable, serversLeftOut, drawdowns, limits, breaches, servers } = overview;
  const currencies = new Map(
    servers.status === "ok" ? servers.servers.map(({ serverId, currency }) => [serverId, currency]) : [],
  );
  const currencyOf = (serverId: string): string | null => currencies.get(serverId) ?? null;
  return (
    <>
      <p class="quiet">
        As of <Moment at={readAt} />. Days begin at 00:00 UTC.
        {serversLeftOut === 0
          ? null
          : ` ${serversLeftOut} more ${serversLeftOut === 1 ? "server is" : "servers are"} not in these numbers.`}
      </p>
      {isDirectoryAvailable ? null : (
        <Notice kind="warning">
          <strong>The list of your servers is unavailable now.</strong> These parts need the list, and are missing:
          equity, accounts, limits, drawdowns, breaches, and servers that do not answer. Trading goes on. This page
          reads the list again in a few seconds.
        </Notice>
      )}
      <Totals overview={overview} />
      <Attention overview={overview} />
      <Section title="Nearest limits" link={["/limits", "All limits"]} part={limits}>
        {({ limits: list }) => (list.length === 0 ? null : <NearLimits limits={list} currencyOf={currencyOf} />)}
      </Section>
      <Section
        title="Largest daily drawdowns"
        link={["/accounts?sort=-dailyDrawdown", "All accounts by drawdown"]}
        part={drawdowns}
      >
        {({ accounts }) => (accounts.length === 0 ? null : <Drawdowns accounts={accounts} currencyOf={currencyOf} />)}
      </Section>
      <Section title="Breaches today" link={[BREACHES_OF_UTC_DAY, "All breaches"]} part={breaches}>
        {({ breaches: list }) =>
          list.length === 0 ? null : <RecentBreaches breaches={list} currencyOf={currencyOf} />
        }
      </Section>
    </>
  );
}

type Part<T> = ({ readonly status: "ok" } & T) | { readonly status: "unavailable" };

interface SectionProps<T> {
  readonly title: string;
  readonly link: readonly [to: string, text: string];
  readonly part: Part<T>;
  /** Returns null if the list of the part is empty. */
  readonly children: (value: T) => ComponentChildren;
}

function Section<T>({ title, link: [to, text], part, children }: SectionProps<T>) {
  return (
    <section class="card">
      <div class="list-head">
        <h2>{title}</h2>
        <Link to={to}>{text}</Link>
      </div>
      {part.status === "unavailable" ? <Unavailable /> : (children(part) ?? <p class="quiet">None.</p>)}
    </section>
  );
}

type Drawdown = Extract<ConsoleOverview["drawdowns"], { status: "ok" }>["accounts"][number];

interface DrawdownsProps {
  readonly accounts: readonly Drawdown[];
  readonly currencyOf: (serverId: string) => string | null;
}

function Drawdowns({ accounts, currencyOf }: DrawdownsProps) {
  return (
    <Table
      caption="Accounts with the largest daily drawdown"
      columns={columnsOf(currencyOf)}
      rows={accounts}
      keyOf={({ serverId, accountNumber }) => `${serverId}/${accountNumber}`}
    />
  );
}

function columnsOf(currencyOf: (serverId: string) => string | null): readonly Column<Drawdown>[] {
  return [
    {
      head: "Account",
      cell: ({ serverId, accountNumber }) => <AccountLink serverId={serverId} accountNumber={accountNumber} />,
    },
    { head: "Daily drawdown", numeric: true, cell: ({ stored }) => percent(stored.dailyDrawdown) },
    { head: "Total drawdown", numeric: true, cell: ({ stored }) => percent(stored.totalDrawdown) },
    {
      head: "Today",
      numeric: true,
      cell: ({ serverId, stored }) => <Money amount={stored.dayChange} currency={currencyOf(serverId)} change />,
    },
    {
      head: "Equity",
      numeric: true,
      cell: ({ serverId, stored }) => <Money amount={stored.equity} currency={currencyOf(serverId)} />,
    },
    { head: "Measured", cell: ({ stored }) => <Moment at={stored.measuredAt} /> },
  ];
}
