import type { Command } from "commander";

import type { AccountDigest, AccountMetricSnapshot, Server } from "../../generated/api.ts";
import type { GlobalOptions } from "../connection.ts";
import {
  addList,
  day,
  type ListOptions,
  openSession,
  showList,
  time,
  wholeNumber,
  withGlobalOptions,
} from "../context.ts";
import type { Column } from "../output.ts";
import type { Surroundings } from "../surroundings.ts";

const DEFAULT_SNAPSHOTS = 20;

const SNAPSHOT_COLUMNS: readonly Column<AccountMetricSnapshot>[] = [
  { heading: "MEASURED", of: ({ measuredAt }) => measuredAt },
  { heading: "ACCOUNT", of: ({ accountNumber }) => accountNumber },
  { heading: "BALANCE", of: ({ balance }) => balance, alignRight: true },
  { heading: "EQUITY", of: ({ equity }) => equity, alignRight: true },
  { heading: "DAILY DRAWDOWN %", of: ({ dailyDrawdown }) => dailyDrawdown, alignRight: true },
  { heading: "TOTAL DRAWDOWN %", of: ({ totalDrawdown }) => totalDrawdown, alignRight: true },
  { heading: "SEQUENCE", of: ({ sequence }) => sequence, alignRight: true },
];

const DIGEST_COLUMNS: readonly Column<AccountDigest>[] = [
  { heading: "ACCOUNT", of: ({ accountNumber }) => accountNumber },
  { heading: "BALANCE", of: ({ closingBalance }) => closingBalance, alignRight: true },
  { heading: "CURRENCY", of: ({ currency }) => currency },
  { heading: "TRANSACTIONS", of: ({ transactions }) => transactions.count, alignRight: true },
  { heading: "AMOUNT", of: ({ transactions }) => transactions.amount, alignRight: true },
  { heading: "DEALS", of: ({ deals }) => deals.count, alignRight: true },
  { heading: "PROFIT", of: ({ deals }) => deals.realizedPnl, alignRight: true },
  { heading: "REVISION", of: ({ revision }) => revision, alignRight: true },
  { heading: "HASH", of: ({ hash }) => hash },
];

interface UpdateOptions extends GlobalOptions {
  readonly leverage?: readonly number[];
  readonly defaultLeverage?: number;
  readonly currency?: "USD" | "NGN";
}

/** Adds `kapi server …`, `kapi snapshots` and `kapi digests` to the program. */
export function addServer(program: Command, surroundings: Surroundings): void {
  const server = program.command("server").description("Configuration of a trading server");
  withGlobalOptions(server.command("show").description("Show the configuration")).action(
    async (options: GlobalOptions) => {
      const session = await openSession(surroundings, options);
      const configuration = await session.server().configuration();
      session.output.print(configuration, () => session.output.fields(linesOf(configuration)));
    },
  );
  withGlobalOptions(
    server.command("update").description("Change leverages and currency; omitted values stay as they are"),
  )
    .option(
      "--leverage <list>",
      "supported leverages, separated by commas; the current default is removed if it is not one of them",
      leverages,
    )
    .option("--default-leverage <n>", "leverage that is proposed for a new account", wholeNumber(1))
    .option("--currency <currency>", "USD or NGN: for new accounts")
    .action(async (options: UpdateOptions) => {
      const session = await openSession(surroundings, options);
      const { leverage, defaultLeverage, currency } = options;
      const changed = await session.server().updateConfiguration({
        ...(leverage === undefined ? {} : { supportedLeverage: [...leverage] }),
        ...(defaultLeverage === undefined ? {} : { defaultLeverage }),
        ...(currency === undefined ? {} : { currency }),
      });
      session.output.print(changed, () => session.output.fields(linesOf(changed)));
    });
  withGlobalOptions(program.command("snapshots [account]").description("Stored values of accounts, newest first"))
    .option("--since <time>", "snapshots measured at or after this time", time)
    .option("--limit <n>", "maximum number of snapshots", wholeNumber(1), DEFAULT_SNAPSHOTS)
    .action(async (accountNumber: string | undefined, options: GlobalOptions & { since?: Date; limit: number }) => {
      const session = await openSession(surroundings, options);
      const { since, limit } = options;
      session.output.rows(await session.server().snapshots({ accountNumber, since, limit }), SNAPSHOT_COLUMNS);
    });
  addList(program, "digests", "Digests of all accounts for one day that is over, by account number")
    .requiredOption("--date <day>", "the day in UTC, such as 2026-03-01", day)
    .action(async (options: ListOptions & { date: string }) => {
      const session = await openSession(surroundings, options);
      await showList(session, options, session.server().digests({ date: options.date }), DIGEST_COLUMNS);
    });
}

function linesOf({ supportedLeverage, ...fields }: Server): Record<string, string | number | null> {
  return { ...fields, supportedLeverage: supportedLeverage.join(", ") };
}

function leverages(text: string): number[] {
  return text.split(",").map((part) => wholeNumber(1)(part.trim()));
}
