import { useApi } from "../../../api/context.ts";
import type { AuditEntry } from "../../../api/shapes.ts";
import { type Column, Table } from "../../../parts/table.tsx";
import { ExactMoment, Nothing } from "../../../parts/values.tsx";
import { Link } from "../../../router.tsx";
import { ACTION_WORDS, actionInWords, actorInWords, detailsInWords } from "../../audit-words.ts";
import { type RecordFilter, RecordList } from "./record-list.tsx";
import { tabPath } from "./tab-links.ts";
import type { TabProps } from "./tab-props.ts";

const OF_ACCOUNTS = /^(?:account|finance)\.|^risk\.\w+_rules$/;
const ACTIONS = Object.entries(ACTION_WORDS).filter(([action]) => OF_ACCOUNTS.test(action));
const FILTERS: readonly RecordFilter[] = [{ field: "action", label: "What", options: ACTIONS }];

/** Entries of the audit log about an account, newest first. */
export function AuditTab({ account, round }: TabProps) {
  const { lists } = useApi();
  return (
    <RecordList
      what={["entry", "entries"]}
      filters={FILTERS}
      time="exclusive"
      round={round}
      load={async ({ cursor = "", ...query }, signal) => {
        const { entries: rows, next } = await lists.page("audit", account, { ...query, before: cursor }, signal);
        return { rows, nextCursor: next, total: null };
      }}
      empty={
        <>
          The audit log has no entry about this account. It records password resets, and what people do in the console.
          Changes through the API are <Link to={tabPath(account, "commands")}>commands</Link>.
        </>
      }
    >
      {(rows) => <Table caption="Audit entries, newest first" columns={COLUMNS} rows={rows} keyOf={({ id }) => id} />}
    </RecordList>
  );
}

const COLUMNS: readonly Column<AuditEntry>[] = [
  { head: "When", cell: ({ at }) => <ExactMoment at={at} /> },
  { head: "Who", cell: ({ actor }) => actorInWords(actor) ?? <Nothing /> },
  { head: "What", cell: ({ action }) => actionInWords(action) },
  { head: "Network address", cell: ({ address }) => address ?? <Nothing /> },
  { head: "Details", cell: ({ details }) => <Details of={details} /> },
];

function Details({ of: details }: { readonly of: AuditEntry["details"] }) {
  return (
    <ul class="chips">
      {detailsInWords(details).map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}
