/** The calls that cause an event, for each kind of `kapi trigger` except `webhook.test`. */
import { randomUUID } from "node:crypto";

import type { AccountResource } from "../../resources/account.ts";
import type { Session } from "../context.ts";
import { UsageError } from "../exit.ts";
import { TradingControl } from "./trading-control.ts";

const SYMBOL = "EURUSD";
/** Units of the base currency per lot of the symbol. */
const LOT_UNITS = 100_000;
const LOTS = 0.02;
/** The price of an order that never executes. */
const FAR_PRICE = 0.5;
const BALANCE = "1000";
/**
 * For a margin call, the balance is the margin of these lots and a reserve. On the simulator,
 * buying them costs 150 dollars of commission and 400 of spread, so the equity falls below the
 * margin at once.
 */
const MARGIN_CALL_LOTS = 50;
/** In dollars: enough for the commission, but less than commission and spread together. */
const MARGIN_CALL_RESERVE = 250;

/** On which server and account an event is caused. */
export interface CauseContext {
  readonly session: Session;
  /** A leverage that the server supports. */
  readonly leverage: number;
  /** The account that the user named; undefined: a new one is created. */
  readonly accountNumber: string | undefined;
}

/** Makes an event happen. Returns the number of its account. */
export type Cause = (context: CauseContext) => Promise<string>;

export const CAUSES: Readonly<Record<string, Cause>> = {
  "account.created": onOwnAccount((context) => createAccount(context)),
  "account.updated": onAccount((account) => {
    const changes = { accountName: `Triggered ${new Date().toISOString()}` };
    return finish(account.update(changes, createKey()));
  }),
  "account.close_only": onAccount((account) => finish(account.closeOnly(createKey()))),
  "account.disabled": onAccount((account) => finish(account.disable(createKey()))),
  "account.enabled": onAccount(async (account) => {
    await finish(account.disable(createKey()));
    await finish(account.enable(createKey()));
  }),
  "account.archived": onAccount((account) => finish(account.archive(createKey()))),
  "account.deleted": onAccount((account) => finish(account.delete(createKey()))),
  "account.password_changed": onAccount((account) => finish(account.resetTradingPassword(createKey()))),
  "transaction.recorded": onAccount((account) =>
    finish(account.deposit({ amount: "1.00", description: "kapi trigger" }, createKey())),
  ),
  "order.executed": onMarket((control, number) => control.buy(number, SYMBOL, LOTS)),
  "deal.executed": onMarket((control, number) => control.buy(number, SYMBOL, LOTS)),
  "position.opened": onMarket((control, number) => control.buy(number, SYMBOL, LOTS)),
  "position.updated": onMarket(async (control, number) =>
    control.close(number, await control.buy(number, SYMBOL, LOTS), LOTS / 2),
  ),
  "position.closed": onMarket(async (control, number) =>
    control.close(number, await control.buy(number, SYMBOL, LOTS)),
  ),
  "order.cancelled": onMarket((control, number) => control.placeAndCancel(number, SYMBOL, LOTS, FAR_PRICE)),
  "margin.call": onOwnAccount(callMargin),
};

/** A cause that always creates its account. */
function onOwnAccount(cause: Cause): Cause {
  return async (context) => {
    const { accountNumber } = context;
    if (accountNumber === undefined) return cause(context);
    throw new UsageError(`An event of this kind needs a new account: leave out --account ${accountNumber}.`);
  };
}

/** A cause that changes an account over the API. */
function onAccount(change: (account: AccountResource) => Promise<unknown>): Cause {
  return async (context) => {
    const accountNumber = context.accountNumber ?? (await createAccount(context));
    await change(context.session.server().account(accountNumber));
    return accountNumber;
  };
}

/** A cause that trades on an account. */
function onMarket(trade: (control: TradingControl, accountNumber: string) => Promise<unknown>): Cause {
  return async (context) => {
    const control = controlOf(context);
    const accountNumber = context.accountNumber ?? (await createAccount(context));
    await trade(control, accountNumber);
    return accountNumber;
  };
}

async function callMargin(context: CauseContext): Promise<string> {
  const control = controlOf(context);
  const margin = (MARGIN_CALL_LOTS * LOT_UNITS * (await control.ask(SYMBOL))) / context.leverage;
  const accountNumber = await createAccount(context, (margin + MARGIN_CALL_RESERVE).toFixed(2));
  await control.buy(accountNumber, SYMBOL, MARGIN_CALL_LOTS);
  return accountNumber;
}

function controlOf({ session }: CauseContext): TradingControl {
  return new TradingControl(session.connection, session.server().id);
}

/** Creates an account, and returns its number. */
async function createAccount({ session, leverage }: CauseContext, initialBalance = BALANCE): Promise<string> {
  const account = { accountName: "kapi trigger", initialBalance, leverage };
  const queued = await session.server().accounts.create(account, createKey());
  return (await queued.result()).accountNumber;
}

function createKey(): { readonly key: string } {
  return { key: `trigger-${randomUUID()}` };
}

async function finish(queued: Promise<{ result(): Promise<unknown> }>): Promise<void> {
  await (await queued).result();
}
