import { useApi } from "../../../api/context.ts";
import type { RiskBreach } from "../../../api/shapes.ts";
import { money, zonedMoment } from "../../../format.ts";
import { type Column, Table } from "../../../parts/table.tsx";
import { State } from "../../../parts/values.tsx";
import { Link, part } from "../../../router.tsx";
import { ruleInShort } from "../../risk-words.ts";
import { BreachAction } from "../breach-action.tsx";
import { type RecordFilter, RecordList } from "./record-list.tsx";
import { tabPath } from "./tab-links.ts";
import type { TabProps } from "./tab-props.ts";

const FILTERS: readonly RecordFilter[] = [{ field: "ruleId", label: "Id of the rule" }];

/** The breaches of the account's rules, newest first. */
export function BreachesTab({ account, currency, round }: TabProps) {
  const { lists } = useApi();
  return (
    <RecordList
      what={["breach", "breaches"]}
      filters={FILTERS}
      time="exclusive"
      round={round}
      load={async (query, signal) => {
        const { breaches: rows, pagination } = await lists.page("breaches", account, query, signal);
        return { rows, ...pagination };
      }}
      empty={
        <>
          No risk rule of this account was breached. <Link to={tabPath(account, "risk")}>Show its risk rules</Link>
        </>
      }
    >
      {(rows) => (
        <Table
          caption="Breaches, newest first"
          columns={columnsOf(account, currency)}
          rows={rows}
          keyOf={({ id }) => id}
        />
      )}
    </RecordList>
  );
}

function columnsOf({ serverId, accountNumber }: TabProps["account"], currency: string): readonly Column<RiskBreach>[] {
  const path = `/accounts/${part(serverId)}/${part(accountNumber)}`;
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
