import { useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import type { ConsoleRequest, ConsoleRequestsAnswer, ConsoleServer, ListedConsoleKey } from "../api/shapes.ts";
import { credits as whole } from "../format.ts";
import { CursorPager } from "../parts/cursor-pager.tsx";
import { Field } from "../parts/field.tsx";
import { ALL, SelectField } from "../parts/select-field.tsx";
import { Empty, Loaded } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { ServersLeftOut } from "../parts/servers-left-out.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { TimeRange, useTimeRange } from "../parts/time-range.tsx";
import { type UrlState, useUrlState } from "../parts/url-state.ts";
import { useData } from "../parts/use-data.ts";
import { AccountLink, Moment, Nothing } from "../parts/values.tsx";
import { Link, part } from "../router.tsx";
import { LOGGED_OPERATIONS } from "./request-operations.ts";
import { OmittedRequests, RequestStatus } from "./request-parts.tsx";

const REQUESTS_A_PAGE = 50;
/** Ranges within the 7 days for which requests are kept. */
const TIMES = ["week", "today", "yesterday", "hour", "custom"] as const;
/** Filters that are chosen from a list. */
const CHOSEN = ["status", "operation", "actor", "serverId"] as const;
type Chosen = (typeof CHOSEN)[number];
/** Filters that are typed, with their labels. */
const TYPED = [
  ["requestId", "Request id"],
  ["code", "Error code"],
  ["accountNumber", "Account"],
] as const;
const STATUSES = [
  ["2xx", "2xx Success"],
  ["4xx", "4xx Refused"],
  ["5xx", "5xx Failed"],
  ["400", "400 Invalid request"],
  ["401", "401 Key not valid"],
  ["402", "402 Out of credits"],
  ["403", "403 Not allowed"],
  ["404", "404 Not found"],
  ["409", "409 Conflict"],
  ["429", "429 Rate limit"],
  ["none", "No response"],
] as const;

/** The requests of the last seven days, newest first. */
export function RequestsPage() {
  const api = useApi();
  const state = useUrlState();
  const [round, setRound] = useState(0);
  const range = useTimeRange(state, "week", round);
  const filters = Object.fromEntries(
    [...CHOSEN, ...TYPED.map(([name]) => name)].map((name) => [name, state.get(name)]),
  );
  const { from, toExclusive: to } = range;
  const asked = { ...filters, from, to, cursor: state.cursor ?? "", limit: REQUESTS_A_PAGE };
  const requests = useData(JSON.stringify(asked), (signal) => api.requests(asked, signal));
  const keys = useData("keys", (signal) => api.keys(signal));
  const servers = useData("servers", (signal) => api.servers(signal));
  const refresh = (): void => {
    setRound(round + 1);
    requests.reload();
  };
  return (
    <Page
      title="Requests"
      actions={
        <button type="button" onClick={refresh}>
          Refresh
        </button>
      }
    >
      <p>
        Requests to the management API, and connections to the live stream, of the last 7 days. A request appears after
        about a second. Bodies and query strings are not stored.
      </p>
      <div class="inline" role="search">
        <Choices state={state} keys={keys.value ?? []} servers={servers.value?.servers ?? []} />
        <TimeRange state={state} range={range} names={TIMES} />
        <TypedFilters key={TYPED.map(([name]) => state.get(name)).join(" ")} state={state} />
      </div>
      <ServersLeftOut answer={servers.value} of="the choice of servers" />
      <section class="card">
        <Loaded data={requests} what="the requests">
          {(answer) => (
            <Results
              answer={answer}
              keys={keys.value ?? []}
              isFiltered={Object.values(filters).some((text) => text !== "")}
            />
          )}
        </Loaded>
        <CursorPager state={state} next={requests.value?.nextCursor ?? null} what="requests" />
      </section>
    </Page>
  );
}

interface ResultsProps {
  readonly answer: ConsoleRequestsAnswer;
  /** For the names of keys. */
  readonly keys: readonly ListedConsoleKey[];
  readonly isFiltered: boolean;
}

function Results({ answer, keys, isFiltered }: ResultsProps) {
  const { requests, nextCursor, searchedTo, omitted } = answer;
  const isStopped = searchedTo !== null && requests.length < REQUESTS_A_PAGE;
  return (
    <>
      {requests.length > 0 ? (
        <Table caption="Requests, newest first" columns={columns(keys)} rows={requests} keyOf={({ id }) => id} />
      ) : nextCursor === null ? (
        <NoRequests isFiltered={isFiltered} />
      ) : null}
      {isStopped ? (
        <p class="quiet">
          Searched back to <Moment at={searchedTo} />. Choose “Older” to search further.
        </p>
      ) : null}
      <OmittedRequests of={omitted} />
    </>
  );
}

function NoRequests({ isFiltered }: Pick<ResultsProps, "isFiltered">) {
  return isFiltered ? (
    <Empty next={<Link to="/requests">Show all requests</Link>}>No request matches.</Empty>
  ) : (
    <Empty next={<Link to="/keys">Create a key</Link>}>There were no requests at that time.</Empty>
  );
}

interface ChoicesProps extends Pick<ResultsProps, "keys"> {
  readonly state: UrlState;
  readonly servers: readonly ConsoleServer[];
}

/** Filters that are chosen from lists. */
function Choices({ state, keys, servers }: ChoicesProps) {
  return (
    <>
      <FilterChoice state={state} field="status" label="Status" options={STATUSES} />
      <FilterChoice
        state={state}
        field="operation"
        label="Operation"
        options={LOGGED_OPERATIONS.map((name) => [name, name] as const)}
      />
      <FilterChoice
        state={state}
        field="actor"
        label="Key"
        options={keys.map(({ keyId, name }) => [keyId, name === "" ? keyId : name] as const)}
      />
      <FilterChoice
        state={state}
        field="serverId"
        label="Server"
        options={servers.map(({ serverId, configuration }) => [serverId, configuration.serverName] as const)}
      />
    </>
  );
}

interface FilterChoiceProps {
  readonly state: UrlState;
  readonly field: Chosen;
  readonly label: string;
  readonly options: readonly (readonly [value: string, name: string])[];
}

function FilterChoice({ state, field, label, options }: FilterChoiceProps) {
  const shown = state.get(field);
  // A link may name a value that is not among the options, such as a person.
  const all =
    shown === "" || options.some(([value]) => value === shown) ? options : [...options, [shown, shown] as const];
  return (
    <SelectField
      label={label}
      value={shown}
      options={[ALL, ...all]}
      choose={(value) => state.set({ [field]: value })}
    />
  );
}

/** Filters that are typed; Enter or the button applies them. */
function TypedFilters({ state }: { readonly state: UrlState }) {
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>(
    Object.fromEntries(TYPED.map(([name]) => [name, state.get(name)])),
  );
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    state.set(Object.fromEntries(TYPED.map(([name]) => [name, (typed[name] ?? "").trim()])));
  };
  return (
    <form class="inline" onSubmit={submit}>
      {TYPED.map(([name, label]) => (
        <Field key={name} label={label}>
          {(tied) => (
            <input
              {...tied}
              type="search"
              autoComplete="off"
              value={typed[name] ?? ""}
              onInput={({ currentTarget }) => setTyped({ ...typed, [name]: currentTarget.value })}
            />
          )}
        </Field>
      ))}
      <button type="submit">Search</button>
    </form>
  );
}

function columns(keys: readonly ListedConsoleKey[]): readonly Column<ConsoleRequest>[] {
  const names = new Map(keys.map(({ keyId, name }) => [keyId, name]));
  return [
    {
      head: "Operation",
      cell: ({ id, operation, method }) => (
        <>
          <Link to={`/requests/${part(id)}`}>{operation}</Link>
          <span class="under">{method}</span>
        </>
      ),
    },
    { head: "Status", cell: (request) => <RequestStatus of={request} /> },
    { head: "When", cell: ({ at }) => <Moment at={at} /> },
    { head: "Duration", numeric: true, cell: ({ durationMs }) => `${whole(durationMs)} ms` },
    { head: "Credits", numeric: true, cell: ({ creditsCharged }) => whole(creditsCharged) },
    {
      head: "Account",
      cell: ({ serverId, accountNumber }) =>
        serverId === null || accountNumber === null ? (
          <Nothing />
        ) : (
          <AccountLink serverId={serverId} accountNumber={accountNumber} />
        ),
    },
    {
      head: "Key or person, request id",
      cell: ({ actor: { id }, requestId }) => (
        <>
          {names.get(id) ?? <code>{id}</code>}
          <code class="under">{requestId}</code>
        </>
      ),
    },
  ];
}
