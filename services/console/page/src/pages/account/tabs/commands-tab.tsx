import { useApi } from "../../../api/context.ts";
import type { Command } from "../../../api/shapes.ts";
import { useActorNames } from "../../../parts/actor.tsx";
import { Table } from "../../../parts/table.tsx";
import { Link } from "../../../router.tsx";
import { commandColumns, OPERATIONS, STATES } from "../../command-columns.tsx";
import { type RecordFilter, RecordList } from "./record-list.tsx";
import type { TabProps } from "./tab-props.ts";

const FILTERS: readonly RecordFilter[] = [
  { field: "operation", label: "Operation", options: OPERATIONS.map((value) => [value, value] as const) },
  { field: "status", label: "State", options: Object.entries(STATES) },
  { field: "requestId", label: "Request id" },
];

/** The commands of an account, newest first. */
export function CommandsTab({ account, currency, round }: TabProps) {
  const { lists } = useApi();
  const { serverId: server, accountNumber } = account;
  return (
    <>
      <p class="quiet">
        To find commands by person, key or amount, use{" "}
        <Link to={allPath(server, accountNumber)}>the page Commands</Link>.
      </p>
      <RecordList
        what={["command", "commands"]}
        filters={FILTERS}
        time="inclusive"
        round={round}
        load={async (query, signal) => {
          const { commands: rows, pagination } = await lists.page("commands", account, query, signal);
          return { rows, ...pagination };
        }}
        csv={(query) => lists.csv("commands", account, query)}
        empty="No command of this account is stored. Changes by the API or the console appear here."
      >
        {(rows) => <Commands rows={rows} currency={currency} />}
      </RecordList>
    </>
  );
}

function allPath(server: string, accountNumber: string): string {
  return `/commands?${new URLSearchParams({ server, accountNumber }).toString()}`;
}

function Commands({ rows, currency }: { readonly rows: readonly Command[]; readonly currency: string }) {
  const names = useActorNames(rows.map(({ createdBy }) => createdBy));
  return (
    <Table
      caption="Commands, newest first"
      columns={commandColumns(names, currency, { withAccount: false })}
      rows={rows}
      keyOf={({ id }) => id}
    />
  );
}
