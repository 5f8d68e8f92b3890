import type { Command } from "commander";

import type { Account, Sample } from "../../live/events.ts";
import type { GlobalOptions } from "../connection.ts";
import { openSession, type Session, withGlobalOptions } from "../context.ts";
import { Failure, UsageError } from "../exit.ts";
import type { Column } from "../output.ts";
import type { Surroundings } from "../surroundings.ts";

/** Time between two drawings of the table of several accounts, in milliseconds. */
const REDRAW_MS = 250;
const CLEAR = "\u001B[H\u001B[2J";

const COLUMNS: readonly Column<Sample>[] = [
  { heading: "ACCOUNT", of: ({ accountNumber }) => accountNumber },
  { heading: "EQUITY", of: ({ equity }) => equity, alignRight: true },
  { heading: "LOWEST", of: ({ intervalMinimumEquity }) => intervalMinimumEquity, alignRight: true },
  { heading: "BALANCE", of: ({ balance }) => balance, alignRight: true },
  { heading: "FREE MARGIN", of: ({ freeMargin }) => freeMargin, alignRight: true },
  { heading: "POSITIONS", of: ({ openPositionCount }) => openPositionCount, alignRight: true },
  { heading: "SEQUENCE", of: ({ sequence }) => sequence, alignRight: true },
  { heading: "MEASURED", of: ({ measuredAt }) => measuredAt },
];

/** Adds `kapi stream <account…>` to the program. */
export function addStream(program: Command, surroundings: Surroundings): void {
  withGlobalOptions(program.command("stream <accounts...>").description("Follow the live equity of accounts")).action(
    async (accounts: string[], options: GlobalOptions) =>
      stream(await openSession(surroundings, options), [...new Set(accounts)]),
  );
}

async function stream(session: Session, numbers: readonly string[]): Promise<void> {
  const { kapi, output, surroundings } = session;
  if (session.connection.liveUrl === undefined) {
    throw new UsageError("No live stream is known: give --live-url to kapi login, or set KAPI_LIVE_URL.");
  }
  const serverId = session.server().id;
  const latest = new Map<string, Sample>();
  const live = kapi.live({
    places: { load: () => Promise.resolve(null) },
    onError: (error) => {
      if (!surroundings.signal.aborted) output.note(error.message);
    },
  });
  const isTable = numbers.length > 1 && surroundings.isTerminal && !output.isJson;
  const show = (sample: Sample): void => {
    latest.set(sample.accountNumber, sample);
    if (!isTable) output.line(sample, lineOf(sample));
  };
  let left = numbers.length;
  const ended = new Promise<void>((resolve) => {
    surroundings.signal.addEventListener("abort", () => resolve(), { once: true });
    for (const accountNumber of numbers) {
      const account: Account = { serverId, accountNumber };
      live.follow(account, (event) => {
        if (event.type === "sample") show(event.sample);
        else if (event.type === "reconciled")
          output.note(`${accountNumber}: samples ${event.missed.from} to ${event.missed.to} are lost`);
        else {
          output.note(`${accountNumber}: ${event.type === "rejected" ? event.error : "deleted"}`);
          left -= 1;
          if (left === 0) resolve();
        }
      });
    }
  });
  const redraw = isTable ? setInterval(() => draw(session, latest, numbers), REDRAW_MS) : undefined;
  try {
    await Promise.race([ended, live.closed]);
  } finally {
    clearInterval(redraw);
    await live.close();
  }
  if (left === 0) throw new Failure("No account is followed any more.");
}

function draw(
  { output, surroundings }: Session,
  latest: ReadonlyMap<string, Sample>,
  numbers: readonly string[],
): void {
  const rows = numbers.flatMap((number) => latest.get(number) ?? []);
  surroundings.out(CLEAR + output.table(rows, COLUMNS));
}

function lineOf({
  measuredAt,
  accountNumber,
  equity,
  balance,
  intervalMinimumEquity,
  openPositionCount,
  sequence,
}: Sample): string {
  const values = [
    `equity ${equity}`,
    `lowest ${intervalMinimumEquity}`,
    `balance ${balance}`,
    `positions ${openPositionCount}`,
  ];
  return [measuredAt, accountNumber, ...values, `#${sequence}`].join("  ");
}
