import { useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import type { ConsoleAccountsAnswer, ConsoleServer, ListedAccount } from "../api/shapes.ts";
import { credits as whole, percent } from "../format.ts";
import { CursorPager } from "../parts/cursor-pager.tsx";
import { DownloadButton } from "../parts/download-button.tsx";
import { filterBy } from "../parts/filter.ts";
import { Empty, Loaded } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { WithServer } from "../parts/server-choice.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { useTimeRange } from "../parts/time-range.tsx";
import { sortBy, sortIn, sortText, type Sort, type UrlState, useUrlState } from "../parts/url-state.ts";
import { useData } from "../parts/use-data.ts";
import { AccountLink, Moment, Money, Nothing, State } from "../parts/values.tsx";
import { AccountsFilter, clearFilters, filtersIn } from "./accounts-filter.tsx";

const PATH = "/accounts";
const ACCOUNTS_A_PAGE = 50;
const SORTS = [
  "created",
  "number",
  "balance",
  "equity",
  "profit",
  "dayChange",
  "dailyDrawdown",
  "totalDrawdown",
  "marginLevel",
] as const;
const NEWEST_FIRST: Sort<(typeof SORTS)[number]> = { field: "created", descending: true };
const PAGE_LABELS = ["Previous", "Next"] as const;

interface QueryProps {
  readonly query: URLSearchParams;
}

/** The accounts of a server. */
export function AccountsPage({ query }: QueryProps) {
  const choose = (server: string): void => filterBy(PATH, new URLSearchParams(), { server });
  return (
    <Page title="Accounts">
      <WithServer serverId={query.get("server")} choose={choose}>
        {(server) => <Accounts key={server.serverId} server={server} />}
      </WithServer>
    </Page>
  );
}

function Accounts({ server }: { readonly server: ConsoleServer }) {
  const api = useApi();
  const state = useUrlState();
  const [round, setRound] = useState(0);
  const created = useTimeRange(state, "all", round);
  const sort = sortIn(state, SORTS, NEWEST_FIRST);
  const filters = filtersIn(state, created);
  const query = { ...filters, sort: sortText(sort), limit: ACCOUNTS_A_PAGE, cursor: state.cursor ?? "" };
  const accounts = useData(`${round} ${JSON.stringify(query)}`, (signal) =>
    api.accounts(server.serverId, query, signal),
  );
  return (
    <>
      <AccountsFilter
        key={JSON.stringify(filters)}
        state={state}
        created={created}
        reload={() => setRound(round + 1)}
      />
      <section class="card">
        <Loaded data={accounts} what="the accounts">
          {(answer) => (
            <List
              {...{ answer, sort, state }}
              isFiltered={Object.keys(filters).length > 0}
              csv={api.accountsCsv(server.serverId, filters)}
            />
          )}
        </Loaded>
      </section>
    </>
  );
}

interface ListProps {
  readonly answer: ConsoleAccountsAnswer;
  readonly sort: Sort;
  readonly state: UrlState;
  readonly isFiltered: boolean;
  /** Path of the list as CSV. */
  readonly csv: string;
}

function List({ answer: { accounts, pagination, orderedAt }, sort, state, isFiltered, csv }: ListProps) {
  if (pagination.total === 0) {
    const all = (
      <button type="button" class="plain" onClick={() => clearFilters(state)}>
        Show all accounts
      </button>
    );
    return (
      <Empty next={isFiltered ? all : undefined}>
        {isFiltered
          ? "No account matches."
          : "This server has no accounts yet. Your backend creates them with createTradingAccount of the API."}
      </Empty>
    );
  }
  return (
    <>
      <div class="list-head">
        <p class="quiet" role="status">
          {whole(pagination.total)} {pagination.total === 1 ? "account" : "accounts"}
          {orderedAt === null ? null : (
            <>
              . The list is sorted and filtered by stored values. The newest stored values on this page are from{" "}
              <Moment at={orderedAt} />. Some values in the table may be newer.
            </>
          )}
        </p>
        <DownloadButton label="Export CSV" path={csv} fileName="accounts.csv" />
      </div>
      <Table
        caption="Accounts"
        columns={COLUMNS}
        rows={accounts}
        keyOf={({ id }) => id}
        sort={sort}
        onSort={(chosen) => sortBy(state, chosen)}
      />
      <CursorPager state={state} next={pagination.nextCursor} what="accounts" labels={PAGE_LABELS} />
    </>
  );
}

const COLUMNS: readonly Column<ListedAccount>[] = [
  {
    head: "Number and name",
    sort: "number",
    cell: ({ serverId, accountNumber, accountName }) => (
      <>
        <AccountLink serverId={serverId} accountNumber={accountNumber} />
        <span class="under">{accountName}</span>
      </>
    ),
  },
  { head: "State", cell: ({ status }) => <State of={status} /> },
  {
    head: "Balance",
    sort: "balance",
    numeric: true,
    cell: ({ balance, currency }) => <Money amount={balance} currency={currency} />,
  },
  {
    head: "Equity",
    sort: "equity",
    numeric: true,
    cell: ({ equity, currency }) => <Money amount={equity} currency={currency} />,
  },
  {
    head: "Open profit",
    sort: "profit",
    numeric: true,
    cell: ({ unrealizedProfit, currency }) => <Money amount={unrealizedProfit} currency={currency} change />,
  },
  {
    head: "Today",
    sort: "dayChange",
    numeric: true,
    cell: ({ stored, currency }) => <Money amount={stored?.dayChange} currency={currency} change />,
  },
  {
    head: "Daily drawdown",
    sort: "dailyDrawdown",
    numeric: true,
    cell: ({ stored }) => <Percent value={stored?.dailyDrawdown ?? null} />,
  },
  {
    head: "Total drawdown",
    sort: "totalDrawdown",
    numeric: true,
    cell: ({ stored }) => <Percent value={stored?.totalDrawdown ?? null} />,
  },
  {
    head: "Margin level",
    sort: "marginLevel",
    numeric: true,
    cell: ({ marginLevel }) => <Percent value={marginLevel} />,
  },
  {
    head: "Created",
    sort: "created",
    cell: ({ createdAt }) => (
      <span class="wraps">
        <Moment at={createdAt} />
      </span>
    ),
  },
];

function Percent({ value }: { readonly value: number | null }) {
  return value === null ? <Nothing /> : percent(value);
}
