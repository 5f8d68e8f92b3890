import { useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import type { Command, CommandOperation, CommandStatus, ConsoleServer } from "../api/shapes.ts";
import { credits as whole } from "../format.ts";
import { Choice } from "../parts/choice.tsx";
import { filterBy, pageIn } from "../parts/filter.ts";
import { Empty, Loaded } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { WithServer } from "../parts/server-choice.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { TimeRange, useTimeRange } from "../parts/time-range.tsx";
import { type UrlState, useUrlState } from "../parts/url-state.ts";
import { useData } from "../parts/use-data.ts";
import { AccountLink, CommandLink, Moment, State } from "../parts/values.tsx";
import { Link, part } from "../router.tsx";

const PATH = "/commands";
const COMMANDS_A_PAGE = 20;
/** Every state, with its name in the filter. */
const STATES: Readonly<Record<CommandStatus, string>> = {
  queued: "Queued",
  leased: "Leased (in progress)",
  succeeded: "Succeeded",
  failed: "Failed",
  expired: "Expired",
};
/** Every operation; the type ensures that none is missing. */
const OPERATIONS: Readonly<Record<CommandOperation, true>> = {
  "account.create": true,
  "account.update": true,
  "account.enable": true,
  "account.disable": true,
  "account.archive": true,
  "account.delete": true,
  "account.flatten": true,
  "account.close_only": true,
  "account.password_reset": true,
  "account.investor_password_reset": true,
  "account.history_export": true,
  "finance.deposit": true,
  "finance.withdraw": true,
  "risk.set_rules": true,
  "risk.delete_rules": true,
  "risk.set_template": true,
  "risk.delete_template": true,
};

interface QueryProps {
  readonly query: URLSearchParams;
}

/** The commands of a server. */
export function CommandsPage({ query }: QueryProps) {
  const choose = (server: string): void => filterBy(PATH, new URLSearchParams(), { server });
  return (
    <Page title="Commands">
      <WithServer serverId={query.get("server")} choose={choose}>
        {(server) => <Commands key={server.serverId} server={server} query={query} />}
      </WithServer>
    </Page>
  );
}

function Commands({ server, query }: QueryProps & { readonly server: ConsoleServer }) {
  const api = useApi();
  const [round, setRound] = useState(0);
  const state = useUrlState();
  const range = useTimeRange(state, "all", round);
  const filter = {
    page: pageIn(query),
    limit: COMMANDS_A_PAGE,
    status: query.get("status") ?? "",
    operation: query.get("operation") ?? "",
    accountNumber: query.get("accountNumber") ?? "",
    from: range.from,
    to: range.to,
  };
  const commands = useData(`${round} ${JSON.stringify(filter)}`, (signal) =>
    api.commands(server.serverId, filter, signal),
  );
  const filtered =
    filter.status !== "" || filter.operation !== "" || filter.accountNumber !== "" || range.name !== "all";
  return (
    <>
      <Filter {...{ query, state, range }} reload={() => setRound(round + 1)} />
      <section class="card">
        <Loaded data={commands} what="the commands">
          {({ commands: list, pagination }) =>
            pagination.total === 0 ? (
              <Empty
                next={
                  filtered ? <Link to={`${PATH}?server=${part(server.serverId)}`}>Show all commands</Link> : undefined
                }
              >
                {filtered
                  ? "No command matches."
                  : "This server has no commands yet. Each requested change becomes a command."}
              </Empty>
            ) : (
              <>
                <Table caption="Commands, newest first" columns={COLUMNS} rows={list} keyOf={({ id }) => id} />
                <Pager
                  pagination={pagination}
                  what={["command", "commands"]}
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

interface FilterProps extends QueryProps {
  readonly state: UrlState;
  readonly range: ReturnType<typeof useTimeRange>;
  readonly reload: () => void;
}

function Filter({ query, state, range, reload }: FilterProps) {
  const accountNumber = query.get("accountNumber");
  return (
    <div class="inline" role="search">
      <Choice label="State" path={PATH} query={query} field="status" options={Object.entries(STATES)} />
      <Choice
        label="Operation"
        path={PATH}
        query={query}
        field="operation"
        options={Object.keys(OPERATIONS).map((value) => [value, value] as const)}
      />
      <TimeRange state={state} range={range} />
      {accountNumber === null ? null : (
        <button type="button" onClick={() => filterBy(PATH, query, { accountNumber: "" })}>
          Only account {accountNumber} — show all
        </button>
      )}
      <button type="button" onClick={reload}>
        Refresh
      </button>
    </div>
  );
}

const COLUMNS: readonly Column<Command>[] = [
  {
    head: "Operation",
    cell: ({ id, serverId, operation }) => (
      <CommandLink serverId={serverId} commandId={id}>
        {operation}
      </CommandLink>
    ),
  },
  {
    head: "State",
    cell: ({ status, errorCode }) => (
      <>
        <State of={status} /> {errorCode === null ? null : <code>{errorCode}</code>}
      </>
    ),
  },
  {
    head: "Account",
    cell: ({ serverId, accountNumber }) => <AccountLink serverId={serverId} accountNumber={accountNumber} />,
  },
  { head: "Request id", cell: ({ requestId }) => <code>{requestId}</code> },
  { head: "Attempts", numeric: true, cell: ({ attempts }) => whole(attempts) },
  { head: "Accepted", cell: ({ createdAt }) => <Moment at={createdAt} /> },
  { head: "Final", cell: ({ completedAt }) => <Moment at={completedAt} /> },
];
