import { useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import type { AccountStatus, ConsoleServer, TradingAccount } from "../api/shapes.ts";
import { credits as whole } from "../format.ts";
import { Choice } from "../parts/choice.tsx";
import { Field } from "../parts/field.tsx";
import { filterBy, pageIn } from "../parts/filter.ts";
import { Empty, Loaded } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { WithServer } from "../parts/server-choice.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { useData } from "../parts/use-data.ts";
import { AccountLink, Moment, Money, State } from "../parts/values.tsx";
import { Link, part } from "../router.tsx";

const PATH = "/accounts";
const ACCOUNTS_A_PAGE = 20;
const SEARCH_CHARACTERS = 100;
/** Every state, with its name in the filter. */
const STATES: Readonly<Record<AccountStatus, string>> = {
  active: "Active",
  pending: "Pending",
  close_only: "Close only",
  disabled: "Disabled",
  archived: "Archived",
  failed: "Failed",
  deleting: "Deleting",
};

interface QueryProps {
  readonly query: URLSearchParams;
}

/** The accounts of a server. */
export function AccountsPage({ query }: QueryProps) {
  const choose = (server: string): void => filterBy(PATH, new URLSearchParams(), { server });
  return (
    <Page title="Accounts">
      <WithServer serverId={query.get("server")} choose={choose}>
        {(server) => <Accounts key={server.serverId} server={server} query={query} />}
      </WithServer>
    </Page>
  );
}

function Accounts({ server, query }: QueryProps & { readonly server: ConsoleServer }) {
  const api = useApi();
  const filter = {
    page: pageIn(query),
    limit: ACCOUNTS_A_PAGE,
    status: query.get("status") ?? "",
    search: query.get("search") ?? "",
  };
  const accounts = useData(JSON.stringify(filter), (signal) => api.accounts(server.serverId, filter, signal));
  const filtered = filter.status !== "" || filter.search !== "";
  return (
    <>
      <Filter key={filter.search} query={query} reload={accounts.reload} />
      <section class="card">
        <Loaded data={accounts} what="the accounts">
          {({ accounts: list, pagination }) =>
            pagination.total === 0 ? (
              <Empty
                next={
                  filtered ? <Link to={`${PATH}?server=${part(server.serverId)}`}>Show all accounts</Link> : undefined
                }
              >
                {filtered
                  ? "No account matches."
                  : "This server has no accounts yet. Your backend creates them with createTradingAccount of the API."}
              </Empty>
            ) : (
              <>
                <Table caption="Accounts, newest first" columns={COLUMNS} rows={list} keyOf={({ id }) => id} />
                <Pager
                  pagination={pagination}
                  what={["account", "accounts"]}
                  go={(page) => filterBy(PATH, query, { page })}
                />
              </>
            )
          }
        </Loaded>
      </section>
    </>
  );
}

function Filter({ query, reload }: QueryProps & { readonly reload: () => void }) {
  const [search, setSearch] = useState(query.get("search") ?? "");
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    filterBy(PATH, query, { search });
  };
  return (
    <form class="inline" role="search" onSubmit={submit}>
      <Field label="Number or name">
        {(tied) => (
          <input
            {...tied}
            type="search"
            maxLength={SEARCH_CHARACTERS}
            value={search}
            onInput={({ currentTarget }) => setSearch(currentTarget.value)}
          />
        )}
      </Field>
      <Choice label="State" path={PATH} query={query} field="status" options={Object.entries(STATES)} />
      <button type="submit">Search</button>
      <button type="button" onClick={reload}>
        Refresh
      </button>
    </form>
  );
}

const COLUMNS: readonly Column<TradingAccount>[] = [
  {
    head: "Number",
    cell: ({ serverId, accountNumber }) => <AccountLink serverId={serverId} accountNumber={accountNumber} />,
  },
  { head: "Name", cell: ({ accountName }) => accountName },
  { head: "State", cell: ({ status }) => <State of={status} /> },
  { head: "Balance", numeric: true, cell: ({ balance, currency }) => <Money amount={balance} currency={currency} /> },
  { head: "Equity", numeric: true, cell: ({ equity, currency }) => <Money amount={equity} currency={currency} /> },
  { head: "Open positions", numeric: true, cell: ({ openPositionCount }) => whole(openPositionCount) },
  { head: "Leverage", numeric: true, cell: ({ leverage }) => `1:${leverage}` },
  { head: "Created", cell: ({ createdAt }) => <Moment at={createdAt} /> },
];
