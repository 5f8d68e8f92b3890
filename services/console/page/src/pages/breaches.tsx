import { useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import type { RiskBreach } from "../api/shapes.ts";
import { credits as whole } from "../format.ts";
import { CursorPager } from "../parts/cursor-pager.tsx";
import { Empty, Loaded } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { ServersLeftOut } from "../parts/servers-left-out.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { TimeRange, useTimeRange } from "../parts/time-range.tsx";
import { useUrlState } from "../parts/url-state.ts";
import { useData } from "../parts/use-data.ts";
import { AccountLink, Moment, Money } from "../parts/values.tsx";
import { Link, part } from "../router.tsx";
import { currencyIn } from "./limits.tsx";
import { actionInWords, ruleInShort } from "./risk-words.ts";

const BREACHES_A_PAGE = "50";
const RANGES = ["hour", "today", "utcDay", "week", "month"] as const;
/** The page with the breaches that the overview counts. */
export const BREACHES_OF_UTC_DAY = "/breaches?range=utcDay";

/** Breaches of all accounts since the start of the chosen range. */
export function BreachesPage() {
  const api = useApi();
  const state = useUrlState();
  const [round, setRound] = useState(0);
  const range = useTimeRange(state, "today", round);
  const filter = { from: range.from, limit: BREACHES_A_PAGE, cursor: state.cursor ?? "" };
  const breaches = useData(`${round} ${JSON.stringify(filter)}`, (signal) => api.recentBreaches(filter, signal));
  const servers = useData("servers", (signal) => api.servers(signal));
  return (
    <Page
      title="Breaches"
      actions={
        <button type="button" onClick={() => setRound(round + 1)}>
          Refresh
        </button>
      }
    >
      <form class="inline" role="search" aria-label="Breaches" onSubmit={(event) => event.preventDefault()}>
        <TimeRange state={state} range={range} names={RANGES} />
      </form>
      <ServersLeftOut answer={servers.value} of="this list" />
      <section class="card">
        <Loaded data={breaches} what="the breaches">
          {({ breaches: list, total, nextCursor }) =>
            total === 0 ? (
              <Empty>No rule was breached in this time.</Empty>
            ) : (
              <>
                <p class="quiet" role="status">
                  {whole(total)} {total === 1 ? "breach" : "breaches"}
                </p>
                <RecentBreaches
                  breaches={list}
                  currencyOf={(serverId) => currencyIn(servers.value?.servers ?? [], serverId)}
                />
                <CursorPager state={state} next={nextCursor} what="breaches" />
              </>
            )
          }
        </Loaded>
      </section>
    </Page>
  );
}

interface RecentBreachesProps {
  readonly breaches: readonly RiskBreach[];
  readonly currencyOf: (serverId: string) => string | null;
}

/** Breaches, newest first, with their accounts. */
export function RecentBreaches({ breaches, currencyOf }: RecentBreachesProps) {
  return (
    <Table caption="Breaches, newest first" columns={columnsOf(currencyOf)} rows={breaches} keyOf={({ id }) => id} />
  );
}

function columnsOf(currencyOf: (serverId: string) => string | null): readonly Column<RiskBreach>[] {
  return [
    {
      head: "Account",
      cell: ({ serverId, accountNumber }) => <AccountLink serverId={serverId} accountNumber={accountNumber} />,
    },
    {
      head: "Breach",
      cell: ({ id, serverId, accountNumber, rule }) => (
        <Link to={`/accounts/${part(serverId)}/${part(accountNumber)}/breaches/${part(id)}`}>
          {ruleInShort(rule, currencyOf(serverId))}
        </Link>
      ),
    },
    {
      head: "Value",
      numeric: true,
      cell: ({ value, serverId }) => <Money amount={value} currency={currencyOf(serverId)} />,
    },
    { head: "Action", cell: ({ action }) => actionInWords(action) },
    { head: "Measured", cell: ({ measuredAt }) => <Moment at={measuredAt} /> },
  ];
}
