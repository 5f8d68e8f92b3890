/** The breaches of an account. */
import { useApi } from "../../api/context.ts";
import type { RiskBreach } from "../../api/shapes.ts";
import { money, zonedMoment } from "../../format.ts";
import { filterBy, pageIn } from "../../parts/filter.ts";
import { Loaded } from "../../parts/notice.tsx";
import { Pager } from "../../parts/pager.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { useData } from "../../parts/use-data.ts";
import { State } from "../../parts/values.tsx";
import { Link, part } from "../../router.tsx";
import { actionInWords, ruleInShort } from "../risk-words.ts";

const BREACHES_A_PAGE = 10;

interface BreachesProps {
  readonly serverId: string;
  readonly accountNumber: string;
  readonly currency: string;
  /** The data is loaded again when this number changes. */
  readonly round: number;
}

/** The breaches of the account's rules, newest first. */
export function Breaches({
  serverId,
  accountNumber,
  currency,
  round,
  query,
}: BreachesProps & { readonly query: URLSearchParams }) {
  const api = useApi();
  const path = `/accounts/${part(serverId)}/${part(accountNumber)}`;
  const range = { page: pageIn(query), limit: BREACHES_A_PAGE };
  const data = useData(`breaches ${round} ${range.page}`, (signal) =>
    api.breaches(serverId, accountNumber, range, signal),
  );
  return (
    <Loaded data={data} what="the breaches">
      {({ breaches, pagination }) =>
        pagination.total === 0 ? (
          <p class="quiet">No risk rule of this account was breached.</p>
        ) : (
          <>
            <Table
              caption="Breaches, newest first"
              columns={columnsOf(path, currency)}
              rows={breaches}
              keyOf={({ id }) => id}
            />
            <Pager
              pagination={pagination}
              what={["breach", "breaches"]}
              go={(page) => filterBy(path, query, { page })}
            />
          </>
        )
      }
    </Loaded>
  );
}

function columnsOf(path: string, currency: string): readonly Column<RiskBreach>[] {
  return [
    {
      head: "Breached",
      cell: ({ id, measuredAt }) => (
        <Link to={`${path}/breaches/${part(id)}`}>
          <time dateTime={measuredAt}>{zonedMoment(measuredAt)}</time>
        </Link>
      ),
    },
    {
      head: "Rule",
      cell: ({ rule }) => (
        <>
          {ruleInShort(rule, currency)} <code>{rule.id}</code>
        </>
      ),
    },
    { head: "Value", numeric: true, cell: ({ value }) => money(value, currency) },
    { head: "Threshold", numeric: true, cell: ({ threshold }) => money(threshold, currency) },
    { head: "Action", cell: (breach) => <BreachAction breach={breach} /> },
    { head: "Evidence", cell: ({ evidence }) => <State of={evidence.status} /> },
  ];
}

/** What kapi did at a breach, with a link to the command. */
export function BreachAction({ breach }: { readonly breach: RiskBreach }) {
  const { action, commandId, serverId } = breach;
  const words = actionInWords(action);
  if (commandId === null) return <>{words}</>;
  return <Link to={`/commands/${part(serverId)}/${part(commandId)}`}>{words}</Link>;
}
