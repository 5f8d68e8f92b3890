import { randomUUID } from "node:crypto";

import { type Command, Option } from "commander";

import type {
  AccountState,
  Deal,
  OpenPosition,
  Order,
  Position,
  TradingAccount,
  Transaction,
} from "../../generated/api.ts";
import {
  addList,
  addMutation,
  addQueued,
  amount,
  carryOut,
  type ListOptions,
  type MutationOptions,
  openSession,
  showList,
  time,
  wholeNumber,
  withGlobalOptions,
} from "../context.ts";
import type { GlobalOptions } from "../connection.ts";
import { UsageError } from "../exit.ts";
import type { Column, Output } from "../output.ts";
import type { Surroundings } from "../surroundings.ts";

const STATUSES = ["pending", "active", "failed", "close_only", "disabled", "archived", "deleting"];

const ACCOUNT_COLUMNS: readonly Column<TradingAccount>[] = [
  { heading: "NUMBER", of: ({ accountNumber }) => accountNumber },
  { heading: "NAME", of: ({ accountName }) => accountName },
  { heading: "STATUS", of: ({ status }) => status },
  { heading: "BALANCE", of: ({ balance }) => balance, alignRight: true },
  { heading: "EQUITY", of: ({ equity }) => equity, alignRight: true },
  { heading: "CURRENCY", of: ({ currency }) => currency },
  { heading: "LEVERAGE", of: ({ leverage }) => leverage, alignRight: true },
  { heading: "CREATED", of: ({ createdAt }) => createdAt },
];
const TRANSACTION_COLUMNS: readonly Column<Transaction>[] = [
  { heading: "#", of: ({ sequence }) => sequence, alignRight: true },
  { heading: "RECORDED", of: ({ recordedAt }) => recordedAt },
  { heading: "TYPE", of: ({ type }) => type },
  { heading: "AMOUNT", of: ({ amount }) => amount, alignRight: true },
  { heading: "BALANCE", of: ({ balanceAfter }) => balanceAfter, alignRight: true },
  { heading: "ID", of: ({ id }) => id },
  { heading: "DESCRIPTION", of: ({ description }) => description },
];
const ORDER_COLUMNS: readonly Column<Order>[] = [
  { heading: "CREATED", of: ({ createdAt }) => createdAt },
  { heading: "SYMBOL", of: ({ symbol }) => symbol },
  { heading: "SIDE", of: ({ side }) => side },
  { heading: "TYPE", of: ({ orderType }) => orderType },
  { heading: "LOTS", of: ({ volume }) => volume, alignRight: true },
  { heading: "STATUS", of: ({ status }) => status },
  { heading: "ID", of: ({ id }) => id },
];
const OPENING_COLUMNS: readonly Column<OpenPosition>[] = [
  { heading: "OPENED", of: ({ openedAt }) => openedAt },
  { heading: "SYMBOL", of: ({ symbol }) => symbol },
  { heading: "SIDE", of: ({ side }) => side },
  { heading: "LOTS", of: ({ volume }) => volume, alignRight: true },
  { heading: "CLOSED LOTS", of: ({ closedVolume }) => closedVolume, alignRight: true },
  { heading: "PRICE", of: ({ openPrice }) => openPrice, alignRight: true },
];
const OPEN_POSITION_COLUMNS: readonly Column<OpenPosition>[] = [
  ...OPENING_COLUMNS,
  { heading: "ID", of: ({ id }) => id },
];
const POSITION_COLUMNS: readonly Column<Position>[] = [
  ...OPENING_COLUMNS,
  { heading: "STATUS", of: ({ status }) => status },
  { heading: "ID", of: ({ id }) => id },
];
const DEAL_COLUMNS: readonly Column<Deal>[] = [
  { heading: "EXECUTED", of: ({ executedAt }) => executedAt },
  { heading: "SYMBOL", of: ({ symbol }) => symbol },
  { heading: "SIDE", of: ({ side }) => side },
  { heading: "KIND", of: ({ kind }) => kind },
  { heading: "LOTS", of: ({ volume }) => volume, alignRight: true },
  { heading: "PRICE", of: ({ price }) => price, alignRight: true },
  { heading: "PROFIT", of: ({ realizedPnl }) => realizedPnl, alignRight: true },
  { heading: "ID", of: ({ id }) => id },
];

/** Commands that need nothing but the account. `change` is the method of the client. */
const CHANGES_WITHOUT_OPTIONS = {
  enable: { change: "enable", description: "Enable an account that is close-only, disabled or archived" },
  flatten: { change: "flatten", description: "Close all positions of an account, and cancel its pending orders" },
  "close-only": {
    change: "closeOnly",
    description:
      "Let an account only reduce and close positions; pending orders that would open or increase one are cancelled",
  },
  archive: { change: "archive", description: "Archive an account without open positions" },
} as const;

/** Adds `kapi accounts …` to the program. */
export function addAccounts(program: Command, surroundings: Surroundings): void {
  const accounts = program
    .command("accounts")
    .description("Trading accounts: create, change, move money, read history");
  addReads(accounts, surroundings);
  addChanges(accounts, surroundings);
  addMoney(accounts, surroundings);
  addHistory(accounts, surroundings);
}

function addReads(accounts: Command, surroundings: Surroundings): void {
  addList(accounts, "list", "List the accounts of a server, newest first")
    .addOption(new Option("--status <status>", "only accounts in this state").choices(STATUSES))
    .option("--search <text>", "only accounts whose number or name contains this text")
    .action(async (options: ListOptions & { status?: TradingAccount["status"]; search?: string }) => {
      const session = await openSession(surroundings, options);
      const { status, search } = options;
      await showList(session, options, session.server().accounts.list({ status, search }), ACCOUNT_COLUMNS);
    });
  withGlobalOptions(accounts.command("get <account>").description("Show an account with its live values")).action(
    async (account: string, options: GlobalOptions) => {
      const { output, server } = await openSession(surroundings, options);
      const details = await server().accounts.get(account);
      output.print(details, () => output.fields(details.account));
    },
  );
  withGlobalOptions(accounts.command("state <account>"))
    .description("Show an account as it was at a time: balance, open positions, last stored equity")
    .requiredOption("--at <time>", "such as 2026-03-02T12:00:30Z, or a duration such as 2h (ago)", time)
    .action(async (account: string, options: GlobalOptions & { at: Date }) => {
      const { output, server } = await openSession(surroundings, options);
      const state = await server().account(account).stateAt(options.at);
      output.print(state, () => stateText(output, state));
    });
}

/** The state of an account as text: its values, then a table of the open positions. */
function stateText(output: Output, { positions, equity, ...values }: AccountState): string {
  const equityValues = { equity: equity?.value ?? null, equityMeasuredAt: equity?.measuredAt ?? null };
  return `${output.fields({ ...values, ...equityValues })}\n${output.table(positions, OPEN_POSITION_COLUMNS)}`;
}

function addChanges(accounts: Command, surroundings: Surroundings): void {
  addMutation(accounts, "create", "Create an account; its passwords are shown once")
    .requiredOption("--name <name>", "name of the account")
    .option("--balance <amount>", "balance at the start", amount, "0")
    .requiredOption("--leverage <n>", "100 means 1:100", wholeNumber(1))
    .option("--password-stdin", "read the trading password from standard input (default: a generated one)")
    .action(async (options: MutationOptions & PasswordOption & { name: string; balance: string; leverage: number }) => {
      const session = await openSession(surroundings, options);
      const { name: accountName, balance: initialBalance, leverage } = options;
      const password = await passwordOf(surroundings, options);
      await carryOut(session, options, (queued) =>
        session.server().accounts.create({ accountName, initialBalance, leverage, password }, queued),
      );
    });
  addMutation(accounts, "update <account>", "Change the name or the leverage of an account")
    .option("--name <name>", "new name")
    .option("--leverage <n>", "new leverage", wholeNumber(1))
    .action(async (account: string, options: MutationOptions & { name?: string; leverage?: number }) => {
      const session = await openSession(surroundings, options);
      const { name: accountName, leverage } = options;
      await carryOut(session, options, (queued) =>
        session.server().account(account).update({ accountName, leverage }, queued),
      );
    });
  for (const [name, { change, description }] of Object.entries(CHANGES_WITHOUT_OPTIONS)) {
    addMutation(accounts, `${name} <account>`, description).action(
      async (account: string, options: MutationOptions) => {
        const session = await openSession(surroundings, options);
        const resource = session.server().account(account);
        await carryOut(session, options, (queued) => resource[change](queued));
      },
    );
  }
  addMutation(accounts, "disable <account>", "Disable an account: no new orders")
    .option("--flatten", "also close all positions, and cancel pending orders")
    .action(async (account: string, options: MutationOptions & { flatten?: true }) => {
      const session = await openSession(surroundings, options);
      const { flatten } = options;
      await carryOut(session, options, (queued) =>
        session
          .server()
          .account(account)
          .disable({ ...queued, flatten }),
      );
    });
  addMutation(accounts, "delete <account>", "Delete an account without open positions")
    .option("--immediately", "close open positions, and delete account and history before the command returns")
    .action(async (account: string, options: MutationOptions & { immediately?: true }) => {
      if (options.immediately === true && (options.key !== undefined || !options.wait)) {
        throw new UsageError("--immediately takes neither --key nor --no-wait: the deletion is not queued.");
      }
      const session = await openSession(surroundings, options);
      const resource = session.server().account(account);
      if (options.immediately !== true) return carryOut(session, options, (queued) => resource.delete(queued));
      const deleted = await resource.deleteImmediately();
      return session.output.print(deleted, () => session.output.fields(deleted));
    });
  addMutation(
    accounts,
    "reset-password <account>",
    "Give an account a new password, and show it; a repeat with the same --key shows the same password",
  )
    .option("--investor", "the investor password (default: the trading password)")
    .option("--password-stdin", "read the password from standard input (default: a generated one)")
    .action(async (account: string, options: MutationOptions & PasswordOption & { investor?: true }) => {
      const session = await openSession(surroundings, options);
      const resource = session.server().account(account);
      const password = await passwordOf(surroundings, options);
      await carryOut(session, options, (queued) =>
        options.investor === true
          ? resource.resetInvestorPassword({ ...queued, password })
          : resource.resetTradingPassword({ ...queued, password }),
      );
    });
}

interface PasswordOption {
  readonly passwordStdin?: true;
}

/** The first line of standard input with `--password-stdin`; undefined without it. */
async function passwordOf({ readLine }: Surroundings, { passwordStdin }: PasswordOption): Promise<string | undefined> {
  return passwordStdin === true ? readLine() : undefined;
}

function addMoney(accounts: Command, surroundings: Surroundings): void {
  for (const name of ["deposit", "withdraw"] as const) {
    const description =
      name === "deposit"
        ? "Deposit money to an account"
        : "Withdraw money, at most the lower of balance and free margin";
    addMutation(accounts, name, description)
      .argument("<account>")
      .argument("<amount>", "such as 250.55", amount)
      .option("--description <text>", "shown in the ledger")
      .action(async (account: string, sum: string, options: MutationOptions & { description?: string }) => {
        const session = await openSession(surroundings, options);
        const funds = { amount: sum, description: options.description };
        const resource = session.server().account(account);
        if (name === "deposit") await carryOut(session, options, (queued) => resource.deposit(funds, queued));
        else await carryOut(session, options, (queued) => resource.withdraw(funds, queued));
      });
  }
}

interface PeriodOptions extends ListOptions {
  readonly since?: Date;
  readonly until?: Date;
}

interface ExportOptions extends GlobalOptions {
  readonly key?: string;
  readonly from?: Date;
  readonly to?: Date;
}

function addHistory(accounts: Command, surroundings: Surroundings): void {
  const addRecords = (name: string, description: string): Command =>
    addList(accounts, `${name} <account>`, description)
      .option("--since <time>", "records at or after this time, or a duration such as 2h", time)
      .option("--until <time>", "records before this time", time);
  addRecords("transactions", "The ledger of an account, newest first")
    .option("--type <type>", "only transactions of this type")
    .action(async (account: string, { type, ...options }: PeriodOptions & { type?: Transaction["type"] }) => {
      const session = await openSession(surroundings, options);
      const { since, until } = options;
      await showList(
        session,
        options,
        session.server().account(account).transactions({ since, until, type }),
        TRANSACTION_COLUMNS,
      );
    });
  addRecords("orders", "The orders of an account, newest first")
    .option("--symbol <symbol>", "only orders of this instrument")
    .action(async (account: string, { symbol, ...options }: PeriodOptions & { symbol?: string }) => {
      const session = await openSession(surroundings, options);
      const { since, until } = options;
      await showList(
        session,
        options,
        session.server().account(account).orders({ since, until, symbol }),
        ORDER_COLUMNS,
      );
    });
  addRecords("positions", "The positions of an account, newest first")
    .addOption(
      new Option("--status <status>", "only positions in this state").choices(["all", "open", "closed"]).default("all"),
    )
    .option("--symbol <symbol>", "only positions of this instrument")
    .action(
      async (
        account: string,
        { symbol, status, ...options }: PeriodOptions & { symbol?: string; status: "all" | "open" | "closed" },
      ) => {
        const session = await openSession(surroundings, options);
        const { since, until } = options;
        const filter = { since, until, symbol, status };
        await showList(session, options, session.server().account(account).positions(filter), POSITION_COLUMNS);
      },
    );
  addRecords("deals", "The executions of an account, newest first")
    .option("--symbol <symbol>", "only deals of this instrument")
    .action(async (account: string, { symbol, ...options }: PeriodOptions & { symbol?: string }) => {
      const session = await openSession(surroundings, options);
      const { since, until } = options;
      await showList(session, options, session.server().account(account).deals({ since, until, symbol }), DEAL_COLUMNS);
    });
  addQueued(
    accounts,
    "export <account>",
    "Export transactions, orders, positions and deals as JSON lines, newest first",
  )
    .option("--from <time>", "records at or after this time", time)
    .option("--to <time>", "records at or before this time (default: now)", time)
    .action(async (account: string, options: ExportOptions) => {
      const { server } = await openSession(surroundings, options);
      const { from } = options;
      if (options.key !== undefined && options.to === undefined) {
        throw new UsageError("--key needs --to, so that a repeat with the same key exports the same period.");
      }
      const { to = new Date(surroundings.nowMs()), key = randomUUID() } = options;
      for await (const record of server().account(account).export({ key, from, to }))
        surroundings.out(`${JSON.stringify(record)}\n`);
    });
}
