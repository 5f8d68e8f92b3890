/**
 * The final checks after all faults, without load: compare the operation log with the API and the
 * trading server.
 */
import { assertDefined } from "@kapi/kernel";

import { TradingControl } from "../e2e/trading-control.ts";
import type { Account, Operation } from "./operation-log.ts";
import type { Case, CommandView, TransactionView } from "./case.ts";
import { checkEvents } from "./check-events.ts";
import { checkWallets } from "./check-wallets.ts";
import { checkRisk } from "./check-risk.ts";
import { pagesOf } from "./pages.ts";
import { INITIAL_BALANCE_MINOR, type Organization } from "./cluster-harness.ts";

const FINAL_DEADLINE_MS = 180_000;
const MONEY_DEADLINE_MS = 60_000;
const ACCOUNTS_DEADLINE_MS = 60_000;
const LIVE_DEADLINE_MS = 60_000;
/** Transaction types that are booked without a command. */
const TRADING_TYPES = new Set(["realized_pnl", "commission", "swap"]);
const FINAL = new Set(["succeeded", "failed", "expired"]);
/** Maximum number of printed examples of one kind of difference. */
const MAX_EXAMPLES = 3;

/** Carries out every check, and adds each difference to the violations. */
export async function checkAll(one: Case): Promise<void> {
  const { harness, say } = one;
  say("checks: every accepted command is final");
  const commands = await checkCommands(one);
  say("checks: balances at trading server, API and sum of transactions; sequences");
  const transactions = new Map<Account, readonly TransactionView[]>();
  for (const account of harness.accounts) transactions.set(account, await checkMoney(one, account, commands));
  say("checks: accounts that were created");
  await checkAccounts(one, commands);
  say("checks: wallets and usage");
  await checkWallets(one, commands);
  say("checks: breaches of risk rules, and their commands");
  const breaches = await checkRisk(one, commands);
  say("checks: webhooks and the feed");
  await checkEvents(one, transactions, breaches);
  say("checks: live streams");
  await checkLive(one);
}

/** Every accepted command must be listed, and succeed. Returns the commands by id. */
async function checkCommands(one: Case): Promise<ReadonlyMap<string, CommandView>> {
  const { operationLog, violations, waits, harness } = one;
  const commands = new Map<string, CommandView>();
  const open = (): Operation[] =>
    operationLog.accepted.filter(({ commandId }) => !FINAL.has(commands.get(commandId ?? "")?.status ?? ""));
  const missing = await waits.until("accepted commands to be final", FINAL_DEADLINE_MS, async () => {
    for (const organization of new Set(open().map((operation) => operation.organization))) {
      await readCommands(harness.organizations[organization], commands);
    }
    const left = open();
    return left.length === 0
      ? null
      : `${left.length} commands, such as ${left.slice(0, MAX_EXAMPLES).map(nameOf).join(", ")}`;
  });
  if (missing !== null) violations.add(`accepted commands are not final: ${missing}`);
  const ends = Map.groupBy(operationLog.accepted, ({ commandId }) => {
    const { status = "unknown", errorCode = null } = commands.get(commandId ?? "") ?? {};
    return `${status} ${errorCode ?? ""}`.trim();
  });
  for (const [end, operations] of ends) {
    one.say(`  ${operations.length} commands ${end}`);
    if (/^(failed|expired)/.test(end))
      violations.add(`${operations.length} commands ${end}, such as ${nameOf(operations[0])}`);
  }
  return commands;
}

async function readCommands(organization: Organization | undefined, into: Map<string, CommandView>): Promise<void> {
  if (organization === undefined) return;
  const path = `/servers/${organization.serverId}/commands`;
  for await (const command of pagesOf<CommandView>(organization.api, path, "commands")) into.set(command.id, command);
}

/** Each successful creation created exactly one account, even if its request was repeated. */
async function checkAccounts(one: Case, commands: ReadonlyMap<string, CommandView>): Promise<void> {
  const { operationLog, violations, waits, harness } = one;
  for (const [index, { api, serverId }] of harness.organizations.entries()) {
    const created = operationLog.ofOrganization(index).filter(({ kind, commandId }) => {
      return kind === "creation" && commands.get(commandId ?? "")?.status === "succeeded";
    });
    const before = harness.accounts.filter(({ organization }) => organization === index);
    const expected = before.length + created.length;
    const wrong = await waits.until(`the accounts of organization ${index}`, ACCOUNTS_DEADLINE_MS, async () => {
      const { accounts } = await api.get<{ accounts: readonly { accountNumber: string }[] }>(
        `/servers/${serverId}/accounts`,
      );
      const { size } = new Set(accounts.map(({ accountNumber }) => accountNumber));
      return size === expected ? null : `${size} accounts are listed, ${expected} were created`;
    });
    if (wrong !== null) violations.add(`organization ${index}: ${wrong}`);
  }
}

async function checkMoney(
  one: Case,
  account: Account,
  commands: ReadonlyMap<string, CommandView>,
): Promise<readonly TransactionView[]> {
  const { operationLog, violations, waits, harness } = one;
  const organization = harness.organizations[account.organization];
  if (organization === undefined) return [];
  const control = new TradingControl(organization.client.demo);
  const own = operationLog.ofOrganization(account.organization).filter((operation) => operation.account === account);
  const expected = own.filter(({ amountMinor }) => amountMinor !== 0);
  let transactions: TransactionView[] = [];
  const wrong = await waits.until(`the money of account ${account.number}`, MONEY_DEADLINE_MS, async () => {
    const path = `/servers/${organization.serverId}/accounts/${account.number}`;
    transactions = [];
    for await (const row of pagesOf<TransactionView>(organization.api, `${path}/transactions`, "transactions")) {
      transactions.unshift(row);
    }
    const [{ balanceMinor }, details] = await Promise.all([
      control.account(account.number),
      organization.api.get<{ account: { balance: number } }>(path),
    ]);
    const done = expected.filter(({ commandId }) => commands.get(commandId ?? "")?.status === "succeeded");
    const traded = transactions.filter(({ type }) => TRADING_TYPES.has(type));
    const moved = traded.reduce((minor, { amount }) => minor + minorOf(amount), 0);
    if (!account.trades && traded.length > 0)
      return `${traded.length} trading transactions, but the account does not trade`;
    const booked = done.reduce((sum, { amountMinor }) => sum + amountMinor, INITIAL_BALANCE_MINOR + moved);
    const sum = transactions.reduce((minor, { amount }) => minor + minorOf(amount), 0);
    const balances = { operationLog: booked, tradingServer: balanceMinor, api: minorOf(details.account.balance), sum };
    if (new Set(Object.values(balances)).size > 1) return `balances in cents differ: ${JSON.stringify(balances)}`;
    const broken = brokenRow(transactions) ?? differentEffects(transactions, done);
    return broken ?? (account.trades ? await differentTrades(organization, account, traded) : null);
  });
  if (wrong !== null) violations.add(`account ${account.number}: ${wrong}`);
  return transactions;
}

/**
 * The API shows the open positions of the trading server, and the deal of every `realized_pnl`
 * transaction. At least one transaction comes from trading.
 */
async function differentTrades(
  { api, client, serverId }: Organization,
  { number }: Account,
  traded: readonly TransactionView[],
): Promise<string | null> {
  const path = `/servers/${serverId}/accounts/${number}`;
  const [shown, deals] = [new Set<string>(), new Set<string>()];
  for await (const { id } of pagesOf<{ id: string }>(api, `${path}/positions?status=open`, "positions")) shown.add(id);
  for await (const { id } of pagesOf<{ id: string }>(api, `${path}/deals`, "deals")) deals.add(id);
  const open = await new TradingControl(client.demo).openPositions(number);
  const hidden = open.filter((id) => !shown.has(id));
  if (hidden.length > 0 || shown.size !== open.length) {
    return `${open.length} positions are open at the trading server, the API shows ${shown.size}`;
  }
  if (traded.length === 0) return "it trades automatically, and nothing was booked";
  const without = traded.filter(({ type, dealId }) => type === "realized_pnl" && !deals.has(dealId ?? ""));
  return without.length === 0
    ? null
    : `${without.length} realized_pnl transactions without their deal, such as ${without[0]?.id}`;
}

/**
 * Sequences run from 1 without a gap. Each row adds up, and starts with the final balance of the
 * row before.
 */
function brokenRow(rows: readonly TransactionView[]): string | null {
  for (const [index, row] of rows.entries()) {
    if (row.sequence !== index + 1) return `transaction ${index + 1} has sequence ${row.sequence}`;
    if (minorOf(row.balanceBefore) + minorOf(row.amount) !== minorOf(row.balanceAfter)) {
      return `transaction ${row.sequence} does not add up`;
    }
    const before = rows[index - 1];
    if (before !== undefined && minorOf(before.balanceAfter) !== minorOf(row.balanceBefore)) {
      return `transaction ${row.sequence} does not begin where ${before.sequence} ended`;
    }
  }
  return null;
}

/**
 * Each deposit and each withdrawal that succeeded has one transaction with its amount. No other
 * transaction names a command, except an initial balance.
 */
function differentEffects(rows: readonly TransactionView[], done: readonly Operation[]): string | null {
  const moved = rows.filter(({ commandId, type }) => commandId !== null && type !== "initial_balance");
  const found = new Map(moved.map(({ commandId, amount }) => [commandId, minorOf(amount)]));
  if (found.size !== moved.length) return "a command has two transactions";
  const missing = done.filter(({ commandId, amountMinor }) => found.get(commandId) !== amountMinor);
  if (missing.length > 0) return `${missing.length} commands without their transaction, such as ${nameOf(missing[0])}`;
  return found.size === done.length ? null : `${found.size - done.length} transactions belong to no accepted command`;
}

/**
 * All clients of the live stream have the same last sequence of each account. The last sample has
 * the balance of the account.
 */
async function checkLive({ harness, violations, waits }: Case): Promise<void> {
  for (const checker of harness.checkers) checker.cutting = false;
  const behind = async (): Promise<string | null> => {
    for (const { number, organization } of harness.accounts) {
      const control = new TradingControl(
        assertDefined(harness.organizations[organization], "an organization").client.demo,
      );
      const { balanceMinor } = await control.account(number);
      const clients = harness.checkers.filter((checker) => checker.organization === organization);
      const ends = clients.map((checker) => checker.processed(number));
      if (new Set(ends).size > 1) return `account ${number}: clients are at ${ends.join(" and ")}`;
      if (ends[0] === 0) return `account ${number}: no client received a sample`;
      const shown = clients.map((checker) => checker.balanceMinor(number));
      if (shown.some((balance) => balance !== balanceMinor)) {
        return `account ${number}: its balance is ${balanceMinor} cents, live clients got ${shown.join(" and ")}`;
      }
    }
    return null;
  };
  const wrong = await waits.until("live clients to have every sample", LIVE_DEADLINE_MS, behind);
  if (wrong !== null) violations.add(wrong);
}

function minorOf(amount: number): number {
  return Math.round(amount * 100);
}

function nameOf(operation: Operation | undefined): string {
  if (operation === undefined) return "none";
  const tries = operation.tries.map(({ status, code }) => `${status ?? "none"} ${code}`.trim()).join(", ");
  return `${operation.commandId} (${operation.kind}, account ${operation.account?.number}, answers ${tries})`;
}
