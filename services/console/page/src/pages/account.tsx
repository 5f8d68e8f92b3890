import { useApi } from "../api/context.ts";
import type { TradingAccount } from "../api/shapes.ts";
import { LiveEquity } from "../charts/live-equity.tsx";
import { credits as whole, money, percent } from "../format.ts";
import { Loaded } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { useData } from "../parts/use-data.ts";
import { Fact, Facts, Moment, Nothing, State } from "../parts/values.tsx";
import { Link, part } from "../router.tsx";

interface AccountProps {
  readonly serverId: string;
  readonly accountNumber: string;
}

/** One account: what it is, and what it is worth as that changes. */
export function AccountPage({ serverId, accountNumber }: AccountProps) {
  const api = useApi();
  const account = useData("account", (signal) => api.account(serverId, accountNumber, signal));
  return (
    <Page
      title={`Account ${accountNumber}`}
      actions={
        <button type="button" onClick={account.reload}>
          Refresh
        </button>
      }
    >
      <p>
        <Link to={`/accounts?server=${part(serverId)}`}>All accounts</Link> ·{" "}
        <Link to={`/commands?server=${part(serverId)}&accountNumber=${part(accountNumber)}`}>
          Commands of this account
        </Link>
      </p>
      <Loaded data={account} what="the account">
        {(value) => (
          <>
            <section class="card">
              <h2>Live equity</h2>
              <LiveEquity serverId={serverId} accountNumber={accountNumber} currency={value.currency} />
            </section>
            <section class="card">
              <h2>Details</h2>
              <Details account={value} />
            </section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Details({ account }: { readonly account: TradingAccount }) {
  return (
    <Facts>
      <Fact name="Name">{account.accountName}</Fact>
      <Fact name="State">
        <State of={account.status} />
      </Fact>
      {account.statusReason === null ? null : <Fact name="Reason">{account.statusReason}</Fact>}
      <Fact name="Environment">{account.environment}</Fact>
      <Fact name="Currency">
        {account.currency} ({account.currencySymbol})
      </Fact>
      <Fact name="Leverage">1:{account.leverage}</Fact>
      <Amount name="Initial balance" amount={account.initialBalance} account={account} />
      <Amount name="Balance" amount={account.balance} account={account} />
      <Amount name="Equity" amount={account.equity} account={account} />
      <Amount name="Margin in use" amount={account.usedMargin} account={account} />
      <Amount name="Free margin" amount={account.freeMargin} account={account} />
      <Fact name="Margin level">{account.marginLevel === null ? <Nothing /> : percent(account.marginLevel)}</Fact>
      <Amount name="Unrealized profit" amount={account.unrealizedProfit} account={account} />
      <Fact name="Open positions">{whole(account.openPositionCount)}</Fact>
      <Time name="Measured" at={account.metricsMeasuredAt} />
      <Time name="Made" at={account.createdAt} />
      <Time name="Active since" at={account.activatedAt} />
      <Time name="Changed" at={account.updatedAt} />
      <Time name="Disabled" at={account.disabledAt} />
      <Time name="Archived" at={account.archivedAt} />
      <Fact name="Account id">
        <code>{account.id}</code>
      </Fact>
      <Fact name="Server id">
        <code>{account.serverId}</code>
      </Fact>
    </Facts>
  );
}

interface AmountProps {
  readonly name: string;
  readonly amount: number;
  readonly account: TradingAccount;
}

function Amount({ name, amount, account }: AmountProps) {
  return (
    <Fact name={name}>
      <span class="number">{money(amount, account.currency)}</span>
    </Fact>
  );
}

function Time({ name, at }: { readonly name: string; readonly at: string | null }) {
  return (
    <Fact name={name}>
      <Moment at={at} />
    </Fact>
  );
}
