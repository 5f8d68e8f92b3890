import { useCallback, useState } from "preact/hooks";

import { useApi, useSession } from "../../api/context.ts";
import type { TradingAccount } from "../../api/shapes.ts";
import { Loaded } from "../../parts/notice.tsx";
import { Page } from "../../parts/page.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { useData } from "../../parts/use-data.ts";
import { Link, part } from "../../router.tsx";
import { AccountOverview } from "./account-overview.tsx";
import { RiskRules } from "./account-risk-rules.tsx";
import { AccountActions } from "./actions/account-actions.tsx";
import { AuditTab } from "./tabs/audit-tab.tsx";
import { BreachesTab } from "./tabs/breaches-tab.tsx";
import { CommandsTab } from "./tabs/commands-tab.tsx";
import { DealsTab } from "./tabs/deals-tab.tsx";
import { DeliveriesTab } from "./tabs/deliveries-tab.tsx";
import { OrdersTab } from "./tabs/orders-tab.tsx";
import { PositionsTab } from "./tabs/positions-tab.tsx";
import { tabIn, type TabName, tabPath, TABS } from "./tabs/tab-links.ts";
import { TransactionsTab } from "./tabs/transactions-tab.tsx";
import "./account.css";

interface AccountProps {
  readonly serverId: string;
  readonly accountNumber: string;
  /** The tab, and the filters and the page of its list. */
  readonly query: URLSearchParams;
}

/** One account, in tabs. Each tab loads its data when it is chosen. */
export function AccountPage({ serverId, accountNumber, query }: AccountProps) {
  const api = useApi();
  const { permissions } = useSession();
  const [round, setRound] = useState(0);
  const account = useData("account", (signal) => api.account(serverId, accountNumber, signal));
  const { reload } = account;
  const refresh = useCallback(() => {
    reload();
    setRound((before) => before + 1);
  }, [reload]);
  const current = tabIn(query);
  const names = (Object.keys(TABS) as TabName[]).filter(
    (name) => name !== "audit" || permissions.includes("audit:read"),
  );
  const tabs = names.map((name) => ({
    name,
    title: TABS[name],
    to: tabPath({ serverId, accountNumber }, name),
  }));
  return (
    <Page
      title={`Account ${accountNumber}`}
      actions={
        <button type="button" onClick={refresh}>
          Refresh
        </button>
      }
    >
      <p>
        <Link to={`/accounts?server=${part(serverId)}`}>All accounts</Link>
      </p>
      <Loaded data={account} what="the account">
        {(value) => (
          <>
            <AccountActions account={value} onChanged={refresh} />
            <Tabs label={`Parts of account ${accountNumber}`} tabs={tabs} current={current} />
            <Shown key={current} tab={current} account={value} round={round} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

interface ShownProps {
  readonly tab: TabName;
  readonly account: TradingAccount;
  /** The tab loads its data again when this number changes. */
  readonly round: number;
}

function Shown({ tab, account, round }: ShownProps) {
  if (tab === "overview") return <AccountOverview account={account} />;
  return (
    <section class="card">
      <h2>{TABS[tab]}</h2>
      <Content tab={tab} account={account} round={round} />
    </section>
  );
}

function Content({ tab, account, round }: ShownProps) {
  const { serverId, accountNumber, currency } = account;
  const props = { account: { serverId, accountNumber }, currency, round };
  switch (tab) {
    case "overview":
      return null;
    case "positions":
      return <PositionsTab {...props} stored={account} />;
    case "orders":
      return <OrdersTab {...props} />;
    case "deals":
      return <DealsTab {...props} />;
    case "transactions":
      return <TransactionsTab {...props} />;
    case "commands":
      return <CommandsTab {...props} />;
    case "deliveries":
      return <DeliveriesTab {...props} />;
    case "risk":
      return <RiskRules {...{ serverId, accountNumber, currency, round }} />;
    case "breaches":
      return <BreachesTab {...props} />;
    case "audit":
      return <AuditTab {...props} />;
  }
}
