import type { Command } from "commander";

import { delay } from "../../delay.ts";
import type { CreditUsage } from "../../generated/api.ts";
import type { GlobalOptions } from "../connection.ts";
import {
  addList,
  type ListOptions,
  openSession,
  type Session,
  showList,
  time,
  untilStopped,
  withGlobalOptions,
} from "../context.ts";
import type { Column } from "../output.ts";
import type { Surroundings } from "../surroundings.ts";

/** Pause between two reads of `kapi logs --follow`, in milliseconds; each read is billed. */
const FOLLOW_PAUSE_MS = 2_000;
/** The operation of a read of usage lines. */
const OWN_OPERATION = "listCreditUsage";
/**
 * Overlap of the reads of `kapi logs --follow`, in milliseconds: a read begins this long before the
 * newest known line. No read begins before the oldest line that was shown at first.
 */
const OVERLAP_MS = 60_000;
const CREDITS_WIDTH = 4;

const USAGE_COLUMNS: readonly Column<CreditUsage>[] = [
  { heading: "AT", of: ({ at }) => at },
  { heading: "OPERATION", of: ({ operation }) => operation },
  { heading: "CREDITS", of: ({ credits }) => credits, alignRight: true },
  { heading: "REQUEST ID", of: ({ xRequestId }) => xRequestId },
  { heading: "BY", of: ({ createdBy }) => (createdBy ? `${createdBy.type}/${createdBy.id}` : null) },
  { heading: "COMMAND", of: ({ commandId }) => commandId },
];

interface LogOptions extends ListOptions {
  readonly since?: Date | undefined;
  readonly operation?: string;
  readonly follow?: true;
}

/** Adds `kapi credits …` and `kapi logs` to the program. */
export function addCredits(program: Command, surroundings: Surroundings): void {
  const credits = program.command("credits").description("The credits that requests cost");
  withGlobalOptions(credits.command("balance").description("Show the wallet")).action(
    async (options: GlobalOptions) => {
      const { kapi, output } = await openSession(surroundings, options);
      const wallet = await kapi.credits.balance();
      output.print(wallet, () => output.fields(wallet));
    },
  );
  withGlobalOptions(credits.command("prices").description("Show what each kind of request costs")).action(
    async (options: GlobalOptions) => {
      const { kapi, output } = await openSession(surroundings, options);
      const prices = await kapi.credits.prices();
      output.print(prices, () => output.fields(prices));
    },
  );
  addList(program, "logs", "Billed requests, newest first")
    .option("--since <time>", "requests at or after this time, or a duration such as 2h", time)
    .option("--operation <name>", "only requests of this operation, such as depositAccountFunds")
    .option("--follow", "show the newest requests, oldest first, then new requests as they come")
    .action(async (options: LogOptions) => {
      const session = await openSession(surroundings, options);
      const { since, operation } = options;
      if (options.follow === true) await untilStopped(surroundings, () => follow(session, options));
      else await showList(session, options, session.kapi.credits.usage({ since, operation }), USAGE_COLUMNS);
    });
}

/** A read of usage lines. */
interface Lines {
  /** Oldest first. */
  readonly lines: readonly CreditUsage[];
  /** The time of the newest line, also of one that is left out; undefined if there is none. */
  readonly newestAt: string | undefined;
}

/**
 * Reads the newest usage lines. Without `--operation`, lines of {@link OWN_OPERATION} are left out:
 * each read would show a line for the read before.
 */
async function linesOf({ kapi }: Session, { since, operation, limit, all }: LogOptions): Promise<Lines> {
  const lines: CreditUsage[] = [];
  let newestAt: string | undefined;
  for await (const line of kapi.credits.usage({ since, operation })) {
    newestAt ??= line.at;
    if (operation === undefined && line.operation === OWN_OPERATION) continue;
    lines.push(line);
    if (all !== true && lines.length === limit) break;
  }
  return { lines: lines.toReversed(), newestAt };
}

/** Shows the newest lines, oldest first, then new lines as they come. */
async function follow(session: Session, options: LogOptions): Promise<void> {
  const { output, surroundings } = session;
  let { lines, newestAt } = await linesOf(session, options);
  for (const line of lines) output.line(line, textOf(line));
  const firstMs = lines[0] === undefined ? (options.since?.getTime() ?? 0) : Date.parse(lines[0].at);
  for (;;) {
    await delay(FOLLOW_PAUSE_MS, surroundings.signal);
    const known = new Set(lines.map((line) => JSON.stringify(line)));
    // Lines of the last moments can still arrive, so the reads overlap. The clock of this machine
    // is not used, because it may differ from kapi's.
    const since =
      newestAt === undefined ? options.since : new Date(Math.max(firstMs, Date.parse(newestAt) - OVERLAP_MS));
    const read = await linesOf(session, { ...options, since, all: true });
    lines = read.lines;
    newestAt = read.newestAt ?? newestAt;
    for (const line of lines) if (!known.has(JSON.stringify(line))) output.line(line, textOf(line));
  }
}

function textOf({ at, credits, operation, xRequestId }: CreditUsage): string {
  return `${at}  ${String(credits).padStart(CREDITS_WIDTH)}  ${operation}  ${xRequestId ?? "-"}`;
}
