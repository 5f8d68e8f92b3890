import type { AuditFilter } from "../api/console-api.ts";
import { useApi } from "../api/context.ts";
import type { AuditEntry, ConsoleKey, ConsolePerson } from "../api/shapes.ts";
import { Choice } from "../parts/choice.tsx";
import { DownloadButton } from "../parts/download-button.tsx";
import { Field } from "../parts/field.tsx";
import { filterBy } from "../parts/filter.ts";
import { Loaded } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { Permitted } from "../parts/permitted.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Instant } from "../parts/time-range.tsx";
import { useData } from "../parts/use-data.ts";
import { AccountLink, CommandLink, ExactMoment, Nothing, State } from "../parts/values.tsx";
import { ACTION_WORDS, actionInWords, actorInWords, detailsInWords, subjectInWords } from "./audit-words.ts";

const PATH = "/audit";
const ENTRIES_A_PAGE = 25;
/**
 * Maximum number of people who are offered as a filter, and whose e-mail addresses are shown in the
 * column "To".
 */
const MAX_PEOPLE = 100;
/** Maximum length of the text of a filter. */
const MAX_CHARACTERS = 100;

function filterOf(query: URLSearchParams): AuditFilter {
  const of = (name: string): string => query.get(name) ?? "";
  const [actorType = "", actorId = ""] = of("who").split(":", 2);
  return {
    before: of("before"),
    actorType,
    actorId,
    action: of("action"),
    subjectId: of("subject"),
    from: of("from"),
    to: of("to"),
  };
}

/** Who did what in the organization, newest first. */
export function AuditPage({ query }: { readonly query: URLSearchParams }) {
  const api = useApi();
  const filter = filterOf(query);
  const audit = useData(`audit ${query.toString()}`, (signal) => api.audit(filter, ENTRIES_A_PAGE, signal));
  const actors = useData("actors", async (signal) => {
    const [people, keys] = await Promise.all([api.people.people(1, MAX_PEOPLE, signal), api.keys(signal)]);
    return { people: people.people, keys };
  });
  const emails = new Map(actors.value?.people.map(({ id, email }) => [id, email]));
  return (
    <Page
      title="Audit log"
      actions={
        <Permitted to="audit:read">
          <DownloadButton label="Export CSV" path={api.auditCsv(filter)} fileName="audit-log.csv" />
          <button type="button" onClick={audit.reload}>
            Refresh
          </button>
        </Permitted>
      }
    >
      <p>
        Sign-ins, changes to people, keys, servers, webhooks and passwords, and what people did to accounts and risk
        templates, with the outcome. Entries cannot be changed.
      </p>
      <section class="card">
        <Filters query={query} people={actors.value?.people ?? []} keys={actors.value?.keys ?? []} />
        <Loaded data={audit} what="the audit log">
          {({ entries, next }) => (
            <>
              {entries.length === 0 ? (
                <p class="quiet">
                  {query.size === 0 ? "There are no entries yet." : "No entry matches. Change or remove a filter."}
                </p>
              ) : (
                <Table caption="Audit log" columns={columns(emails)} rows={entries} keyOf={({ id }) => id} />
              )}
              <nav class="pager" aria-label="Pages of the audit log">
                <button
                  type="button"
                  disabled={filter.before === ""}
                  onClick={() => filterBy(PATH, query, { before: "" })}
                >
                  Newest
                </button>
                <button
                  type="button"
                  disabled={next === null}
                  onClick={() => filterBy(PATH, query, { before: next ?? "" })}
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

interface FiltersProps {
  readonly query: URLSearchParams;
  readonly people: readonly ConsolePerson[];
  readonly keys: readonly ConsoleKey[];
}

function Filters({ query, people, keys }: FiltersProps) {
  const actors = [
    ...people.map(({ id, email }) => [`user:${id}`, email] as const),
    ...keys.map(({ keyId, name }) => [`key:${keyId}`, `key ${name === "" ? keyId : name}`] as const),
    ["operator:", "the operator"] as const,
  ];
  // A change of a filter starts at the newest entry.
  const first = new URLSearchParams(query);
  first.delete("before");
  return (
    <div class="inline">
      <Choice label="Who" path={PATH} query={first} field="who" options={actors} />
      <Choice label="What" path={PATH} query={first} field="action" options={Object.entries(ACTION_WORDS)} />
      <TextFilter query={first} label="Id of what was changed" field="subject" />
      <TimeFilter query={first} label="From" field="from" />
      <TimeFilter query={first} label="Before" field="to" />
    </div>
  );
}

interface FilterProps {
  readonly query: URLSearchParams;
  readonly label: string;
  readonly field: string;
}

function TextFilter({ query, label, field }: FilterProps) {
  return (
    <Field label={label}>
      {(tied) => (
        <input
          {...tied}
          type="search"
          maxLength={MAX_CHARACTERS}
          value={query.get(field) ?? ""}
          onChange={({ currentTarget }) => filterBy(PATH, query, { [field]: currentTarget.value.trim() })}
        />
      )}
    </Field>
  );
}

/** A time in the chosen zone; the address of the page has it in UTC. */
function TimeFilter({ query, label, field }: FilterProps) {
  const ms = Date.parse(query.get(field) ?? "");
  return (
    <Instant
      label={label}
      ms={Number.isNaN(ms) ? null : ms}
      set={(chosen) => filterBy(PATH, query, { [field]: chosen === null ? "" : new Date(chosen).toISOString() })}
    />
  );
}

function columns(emails: ReadonlyMap<string, string>): readonly Column<AuditEntry>[] {
  return [
    { head: "When", cell: ({ at }) => <ExactMoment at={at} /> },
    { head: "Who", cell: ({ actor }) => actorInWords(actor) ?? <Nothing /> },
    { head: "What", cell: (entry) => <What entry={entry} /> },
    { head: "To", cell: (entry) => <Subject entry={entry} emails={emails} /> },
    { head: "Network address", cell: ({ address }) => address ?? <Nothing /> },
    {
      head: "Details",
      // The column "To" has a link to the command.
      cell: ({ details: { commandId: _command, ...details } }) => (
        <ul class="chips">
          {detailsInWords(details).map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      ),
    },
  ];
}

/** What happened. For a command that failed or expired, its state is shown too. */
function What({ entry: { action, details } }: { readonly entry: AuditEntry }) {
  const { status } = details;
  const isUnsuccessful = status === "failed" || status === "expired";
  return (
    <>
      {actionInWords(action)} {isUnsuccessful ? <State of={status} /> : null}
    </>
  );
}

interface SubjectProps {
  readonly entry: AuditEntry;
  readonly emails: ReadonlyMap<string, string>;
}

/** What was changed. An account and the command of the change are links. */
function Subject({ entry, emails }: SubjectProps) {
  const { subject, details } = entry;
  const { commandId } = details;
  const [serverId = "", accountNumber] = subject?.id.split("/") ?? [];
  const isAccount = subject?.type === "account" && accountNumber !== undefined;
  return (
    <>
      {isAccount ? (
        <>
          account <AccountLink serverId={serverId} accountNumber={accountNumber} />
        </>
      ) : (
        (subjectInWords(entry, emails) ?? <Nothing />)
      )}
      {typeof commandId === "string" && serverId !== "" ? (
        <>
          {" "}
          <CommandLink serverId={serverId} commandId={commandId}>
            Command
          </CommandLink>
        </>
      ) : null}
    </>
  );
}
