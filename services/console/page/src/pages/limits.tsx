import { useApi } from "../api/context.ts";
import type { ConsoleServer, NearLimit } from "../api/shapes.ts";
import { credits as whole, percent } from "../format.ts";
import { CursorPager } from "../parts/cursor-pager.tsx";
import { SelectField } from "../parts/select-field.tsx";
import { ServersLeftOut } from "../parts/servers-left-out.tsx";
import { Empty, Loaded } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { type UrlState, useUrlState } from "../parts/url-state.ts";
import { useData } from "../parts/use-data.ts";
import { AccountLink, Moment, Money } from "../parts/values.tsx";
import { ruleInShort } from "./risk-words.ts";

const LIMITS_A_PAGE = "50";
const TYPES = { dailyLoss: "Daily loss", maxLoss: "Maximum loss" } as const;
/** Distances to choose from, in percent of the limit. */
const DISTANCES = ["1", "5", "10", "25"] as const;
const PAGE_LABELS = ["Nearer", "Further"] as const;

/** The accounts with a loss limit that is not breached, the nearest to their limit first. */
export function LimitsPage() {
  const api = useApi();
  const state = useUrlState();
  const servers = useData("servers", (signal) => api.servers(signal));
  const filter = {
    serverId: state.get("server"),
    type: state.get("type"),
    within: state.get("within"),
    cursor: state.cursor ?? "",
    limit: LIMITS_A_PAGE,
  };
  const limits = useData(JSON.stringify(filter), (signal) => api.nearLimits(filter, signal));
  const known = servers.value?.servers ?? [];
  return (
    <Page
      title="Limits"
      actions={
        <button type="button" onClick={limits.reload}>
          Refresh
        </button>
      }
    >
      <p class="quiet">
        The distance of each account from its nearest limit that is not breached, in percent of the limit.
      </p>
      <Filter state={state} servers={known} />
      <ServersLeftOut answer={servers.value} of="this list" />
      <section class="card">
        <Loaded data={limits} what="the limits">
          {({ limits: list, total, nextCursor }) =>
            total === 0 ? (
              <Empty>No account has a loss limit that matches these filters.</Empty>
            ) : (
              <>
                <p class="quiet" role="status">
                  {whole(total)} {total === 1 ? "account" : "accounts"}
                </p>
                <NearLimits limits={list} currencyOf={(serverId) => currencyIn(known, serverId)} />
                <CursorPager state={state} next={nextCursor} what="accounts" labels={PAGE_LABELS} />
              </>
            )
          }
        </Loaded>
      </section>
    </Page>
  );
}

/** The currency of a server; null for a server that is not in `servers`. */
export function currencyIn(servers: readonly ConsoleServer[], serverId: string): string | null {
  return servers.find((server) => server.serverId === serverId)?.configuration.currency ?? null;
}

function Filter({ state, servers }: { readonly state: UrlState; readonly servers: readonly ConsoleServer[] }) {
  const names = servers.map(({ serverId, configuration }) => [serverId, configuration.serverName] as const);
  return (
    <form class="inline" role="search" aria-label="Limits" onSubmit={(event) => event.preventDefault()}>
      <Select label="Limit" state={state} field="type" all="All loss limits" options={Object.entries(TYPES)} />
      <Select
        label="Distance"
        state={state}
        field="within"
        all="Any"
        options={DISTANCES.map((one) => [one, `Within ${one} % of the limit`])}
      />
      {names.length > 1 ? <Select label="Server" state={state} field="server" all="All" options={names} /> : null}
    </form>
  );
}

interface SelectProps {
  readonly label: string;
  readonly state: UrlState;
  readonly field: string;
  /** Name of the choice that filters nothing. */
  readonly all: string;
  readonly options: readonly (readonly [value: string, name: string])[];
}

function Select({ label, state, field, all, options }: SelectProps) {
  return (
    <SelectField
      label={label}
      value={state.get(field)}
      options={[["", all], ...options]}
      choose={(value) => state.set({ [field]: value })}
    />
  );
}

interface NearLimitsProps {
  readonly limits: readonly NearLimit[];
  readonly currencyOf: (serverId: string) => string | null;
}

/** Accounts and their nearest limits. */
export function NearLimits({ limits, currencyOf }: NearLimitsProps) {
  return (
    <Table
      caption="Accounts by the distance from their nearest limit"
      columns={columnsOf(currencyOf)}
      rows={limits}
      keyOf={({ serverId, accountNumber }) => `${serverId}/${accountNumber}`}
    />
  );
}

function columnsOf(currencyOf: (serverId: string) => string | null): readonly Column<NearLimit>[] {
  return [
    {
      head: "Account",
      cell: ({ serverId, accountNumber }) => <AccountLink serverId={serverId} accountNumber={accountNumber} />,
    },
    { head: "Left", numeric: true, cell: ({ leftPercent }) => percent(leftPercent) },
    { head: "Rule", cell: ({ rule, serverId }) => ruleInShort(rule, currencyOf(serverId)) },
    {
      head: "Equity",
      numeric: true,
      cell: ({ value, serverId }) => <Money amount={value} currency={currencyOf(serverId)} />,
    },
    {
      head: "Threshold",
      numeric: true,
      cell: ({ threshold, serverId }) => <Money amount={threshold} currency={currencyOf(serverId)} />,
    },
    { head: "Measured", cell: ({ measuredAt }) => <Moment at={measuredAt} /> },
  ];
}
