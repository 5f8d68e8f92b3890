import { useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import type { AuditEntry } from "../api/shapes.ts";
import { Loaded } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { useData } from "../parts/use-data.ts";
import { Moment, Nothing } from "../parts/values.tsx";
import { actionInWords, actorInWords, detailsInWords } from "./audit-words.ts";

const ENTRIES_A_PAGE = 25;

/** Who did what in the organization, newest first. */
export function AuditPage() {
  const api = useApi();
  /** For each page so far, the last entry of the page before it; none for the first page. */
  const [trail, setTrail] = useState<readonly string[]>([]);
  const before = trail.at(-1);
  const audit = useData(`audit ${before ?? ""}`, (signal) => api.audit(before, ENTRIES_A_PAGE, signal));
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
                <p class="quiet">There are no entries.</p>
              ) : (
                <Table caption="Audit log" columns={COLUMNS} rows={entries} keyOf={({ id }) => id} />
              )}
              <nav class="pager" aria-label="Pages of the audit log">
                <button type="button" disabled={trail.length === 0} onClick={() => setTrail(trail.slice(0, -1))}>
                  Newer
                </button>
                <button
                  type="button"
                  disabled={next === null}
                  onClick={() => setTrail(next === null ? trail : [...trail, next])}
                >
                  Older
                </button>
              </nav>
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
