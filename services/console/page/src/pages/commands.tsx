import { useState } from "preact/hooks";

import { useApi, useSession } from "../api/context.ts";
import type { Command, ConsoleServer, Pagination } from "../api/shapes.ts";
import { useActorNames } from "../parts/actor.tsx";
import { Choice } from "../parts/choice.tsx";
import { CursorPager } from "../parts/cursor-pager.tsx";
import { Field } from "../parts/field.tsx";
import { ALL, SelectField } from "../parts/select-field.tsx";
import { filterBy, pageIn } from "../parts/filter.ts";
import { Empty, Loaded } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { WithServer } from "../parts/server-choice.tsx";
import { Table } from "../parts/table.tsx";
import { TimeRange, useTimeRange } from "../parts/time-range.tsx";
import { type UrlState, useUrlState } from "../parts/url-state.ts";
import { useData } from "../parts/use-data.ts";
import { Moment } from "../parts/values.tsx";
import { Link, part } from "../router.tsx";
import { commandColumns, OPERATIONS, STATES } from "./command-columns.tsx";

const PATH = "/commands";
const COMMANDS_A_PAGE = 20;
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

/** Parameters of the page's query string that filter the list. */
const FILTERS = ["status", "operation", "accountNumber", "by", "amount"] as const;

interface ListedCommands {
  readonly commands: readonly Command[];
  /** Null if commands were searched by `by` or `amount`: such a search does not count them. */
  readonly pagination: Pagination | null;
  readonly nextCursor: string | null;
  /** The time back to which commands were searched; null: the whole list was searched. */
  readonly searchedTo: string | null;
}

function Commands({ server, query }: QueryProps & { readonly server: ConsoleServer }) {
  const api = useApi();
  const [round, setRound] = useState(0);
  const state = useUrlState();
  const range = useTimeRange(state, "all", round);
  const filters = Object.fromEntries(FILTERS.map((name) => [name, state.get(name)]));
  const { from, to } = range;
  const asked = { ...filters, from, to, limit: COMMANDS_A_PAGE };
  const isSearch = state.get("by") !== "" || state.get("amount") !== "";
  const { cursor } = state;
  const page = pageIn(query);
  const load = async (signal: AbortSignal): Promise<ListedCommands> => {
    if (isSearch) {
      const found = await api.findCommands(server.serverId, { ...asked, cursor: cursor ?? "" }, signal);
      return { ...found, pagination: null };
    }
    const { commands: list, pagination } = await api.commands(server.serverId, { ...asked, page }, signal);
    return { commands: list, pagination, nextCursor: null, searchedTo: null };
  };
  const commands = useData(`${round} ${cursor} ${page} ${JSON.stringify(asked)}`, load);
  const isFiltered = Object.values(filters).some((text) => text !== "") || range.name !== "all";
  return (
    <>
      <Filter key={state.get("amount")} {...{ query, state, range, server }} reload={() => setRound(round + 1)} />
      <section class="card">
        <Loaded data={commands} what="the commands">
          {(listed) => <Results listed={listed} server={server} isFiltered={isFiltered} />}
        </Loaded>
        {isSearch ? (
          <CursorPager state={state} next={commands.value?.nextCursor ?? null} what="commands" />
        ) : commands.value?.pagination ? (
          <Pager
            pagination={commands.value.pagination}
            what={["command", "commands"]}
            go={(wanted) => filterBy(PATH, query, { page: wanted })}
          />
        ) : null}
      </section>
    </>
  );
}

interface ResultsProps {
  readonly listed: ListedCommands;
  readonly server: ConsoleServer;
  readonly isFiltered: boolean;
}

function Results({ listed, server, isFiltered }: ResultsProps) {
  const { commands, searchedTo } = listed;
  const names = useActorNames(commands.map(({ createdBy }) => createdBy));
  return (
    <>
      {commands.length > 0 ? (
        <Table
          caption="Commands, newest first"
          columns={commandColumns(names, server.configuration.currency)}
          rows={commands}
          keyOf={({ id }) => id}
        />
      ) : searchedTo === null ? (
        <Empty
          next={isFiltered ? <Link to={`${PATH}?server=${part(server.serverId)}`}>Show all commands</Link> : undefined}
        >
          {isFiltered
            ? "No command matches."
            : "This server has no commands yet. Each requested change becomes a command."}
        </Empty>
      ) : null}
      {searchedTo === null ? null : (
        <p class="quiet">
          Searched back to <Moment at={searchedTo} />. Choose “Older” to search further.
        </p>
      )}
    </>
  );
}

interface FilterProps extends QueryProps {
  readonly state: UrlState;
  readonly range: ReturnType<typeof useTimeRange>;
  readonly server: ConsoleServer;
  readonly reload: () => void;
}

function Filter({ query, state, range, server, reload }: FilterProps) {
  const accountNumber = query.get("accountNumber");
  const [amount, setAmount] = useState(state.get("amount"));
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    state.set({ amount: amount.trim().replace(",", ".") });
  };
  return (
    <div class="inline" role="search">
      <Choice
        label="Operation"
        path={PATH}
        query={query}
        field="operation"
        options={OPERATIONS.map((value) => [value, value] as const)}
      />
      <Choice label="State" path={PATH} query={query} field="status" options={Object.entries(STATES)} />
      <ByChoice state={state} />
      <TimeRange state={state} range={range} />
      <form class="inline" onSubmit={submit}>
        <Field label={`Amount (${server.configuration.currency})`}>
          {(tied) => (
            <input
              {...tied}
              type="search"
              inputMode="decimal"
              pattern="\d{1,12}([.,]\d{1,2})?"
              title="An amount with at most two decimals"
              autoComplete="off"
              value={amount}
              onInput={({ currentTarget }) => setAmount(currentTarget.value)}
            />
          )}
        </Field>
        <button type="submit">Search</button>
      </form>
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

/**
 * Filters by who requested a command: a key, the signed-in person, kapi's risk rules, or the person
 * or key that a link names.
 */
function ByChoice({ state }: { readonly state: UrlState }) {
  const api = useApi();
  const { user } = useSession();
  const keys = useData("keys", (signal) => api.keys(signal));
  const shown = state.get("by");
  const slash = shown.indexOf("/");
  const type = shown.slice(0, slash);
  const linked = type === "key" || type === "user" ? ({ type, id: shown.slice(slash + 1) } as const) : null;
  const names = useActorNames([linked]);
  const options: (readonly [string, string])[] = [
    [`user/${user.id}`, "Me"],
    ...(keys.value ?? []).map(({ keyId, name }) => [`key/${keyId}`, `${name === "" ? keyId : name} (key)`] as const),
    ["system/risk", "kapi (risk rules)"],
  ];
  const all =
    shown === "" || options.some(([value]) => value === shown)
      ? options
      : [...options, [shown, names[shown] ?? shown] as const];
  return <SelectField label="By" value={shown} options={[ALL, ...all]} choose={(by) => state.set({ by })} />;
}
