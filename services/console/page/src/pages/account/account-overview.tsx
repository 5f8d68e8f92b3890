import type { TradingAccount } from "../../api/shapes.ts";
import { EquityHistory } from "../../charts/equity-history.tsx";
import { credits as whole, percent } from "../../format.ts";
import { useLiveAccount } from "../../parts/live-account.ts";
import { Detail, DetailList, Moment, Money, Nothing, State } from "../../parts/values.tsx";

/** The equity of an account, and its details. */
export function AccountOverview({ account }: { readonly account: TradingAccount }) {
  return (
    <>
      <section class="card">
        <h2>Equity</h2>
        <EquityHistory account={account} />
      </section>
      <section class="card">
        <h2>Details</h2>
        <Details account={account} />
      </section>
    </>
  );
}

function Details({ account: loaded }: { readonly account: TradingAccount }) {
  const account = useLiveAccount(loaded);
  return (
    <DetailList>
      <Detail name="Name">{account.accountName}</Detail>
      <Detail name="State">
        <State of={account.status} />
      </Detail>
      {account.statusReason === null ? null : <Detail name="Reason">{account.statusReason}</Detail>}
      <Detail name="Environment">{account.environment}</Detail>
      <Detail name="Currency">
        {account.currency} ({account.currencySymbol})
      </Detail>
      <Detail name="Leverage">1:{account.leverage}</Detail>
      <Amount name="Initial balance" amount={account.initialBalance} account={account} />
      <Amount name="Balance" amount={account.balance} account={account} />
      <Amount name="Equity" amount={account.equity} account={account} />
      <Amount name="Margin in use" amount={account.usedMargin} account={account} />
      <Amount name="Free margin" amount={account.freeMargin} account={account} />
      <Detail name="Margin level">{account.marginLevel === null ? <Nothing /> : percent(account.marginLevel)}</Detail>
      <Amount name="Unrealized profit" amount={account.unrealizedProfit} account={account} />
      <Detail name="Open positions">{whole(account.openPositionCount)}</Detail>
      <Time name="Measured" at={account.metricsMeasuredAt} />
      <Time name="Created" at={account.createdAt} />
      <Time name="Active since" at={account.activatedAt} />
      <Time name="Changed" at={account.updatedAt} />
      <Time name="Disabled" at={account.disabledAt} />
      <Time name="Archived" at={account.archivedAt} />
      <Detail name="Account id">
        <code>{account.id}</code>
      </Detail>
      <Detail name="Server id">
        <code>{account.serverId}</code>
      </Detail>
    </DetailList>
  );
}

interface AmountProps {
  readonly name: string;
  readonly amount: number;
  readonly account: TradingAccount;
}

function Amount({ name, amount, account }: AmountProps) {
  return (
    <Detail name={name}>
      <Money amount={amount} currency={account.currency} />
    </Detail>
  );
}

function Time({ name, at }: { readonly name: string; readonly at: string | null }) {
  return (
    <Detail name={name}>
      <Moment at={at} />
    </Detail>
  );
}
