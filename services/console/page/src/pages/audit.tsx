import { useApi } from "../api/context.ts";
import type { AuditEntry } from "../api/shapes.ts";
import { CursorPager } from "../parts/cursor-pager.tsx";
import { Empty, Loaded } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { useUrlState } from "../parts/url-state.ts";
import { useData } from "../parts/use-data.ts";
import { Moment, Nothing } from "../parts/values.tsx";
import { actionInWords, actorInWords, detailsInWords } from "./audit-words.ts";

const ENTRIES_A_PAGE = 25;

/** Who did what in the organization, newest first. */
export function AuditPage() {
  const api = useApi();
  const state = useUrlState();
  const { cursor } = state;
  const audit = useData(`audit ${cursor ?? ""}`, (signal) => api.audit(cursor ?? undefined, ENTRIES_A_PAGE, signal));
  return (
    <Page
      title="Audit log"
      actions={
        <button type="button" onClick={audit.reload}>
          Refresh
        </button>
      }
    >
      <p>Sign-ins, password resets, and changes to keys, users, servers and webhooks. Entries cannot be changed.</p>
      <section class="card">
        <Loaded data={audit} what="the audit log">
          {({ entries, next }) => (
            <>
              {entries.length === 0 ? (
                <Empty>There are no entries.</Empty>
              ) : (
                <Table caption="Audit log" columns={COLUMNS} rows={entries} keyOf={({ id }) => id} />
              )}
              <CursorPager state={state} next={next} what="the audit log" />
            </>
          )}
        </Loaded>
      </section>
    </Page>
  );
}

const COLUMNS: readonly Column<AuditEntry>[] = [
  { head: "When", cell: ({ at }) => <Moment at={at} /> },
  { head: "Who", cell: ({ actor }) => actorInWords(actor) ?? <Nothing /> },
  { head: "What", cell: ({ action }) => actionInWords(action) },
  {
    head: "To",
    cell: ({ subject }) =>
      subject === null ? <Nothing /> : <code class="whole">{`${subject.type} ${subject.id}`}</code>,
  },
  { head: "From", cell: ({ address }) => address ?? <Nothing /> },
  {
    head: "Details",
    cell: ({ details }) => (
      <ul class="chips">
        {detailsInWords(details).map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    ),
  },
];
