import { type Command } from "commander";

import type { RiskBreach } from "../../generated/api.ts";
import { type GlobalOptions } from "../connection.ts";
import { addList, type ListOptions, openSession, showList, time, withGlobalOptions } from "../context.ts";
import { UsageError } from "../exit.ts";
import type { Column } from "../output.ts";
import type { Surroundings } from "../surroundings.ts";

const BREACH_COLUMNS: readonly Column<RiskBreach>[] = [
  { heading: "MEASURED", of: ({ measuredAt }) => measuredAt },
  { heading: "RULE", of: ({ rule }) => rule.id },
  { heading: "PERIOD", of: ({ period }) => period },
  { heading: "THRESHOLD", of: ({ threshold }) => threshold, alignRight: true },
  { heading: "VALUE", of: ({ value }) => value, alignRight: true },
  { heading: "ACTION", of: ({ action }) => action },
  { heading: "EVIDENCE", of: ({ evidence }) => evidence.status },
  { heading: "ID", of: ({ id }) => id },
];

interface EvidenceOptions extends GlobalOptions {
  readonly from?: Date;
  readonly to?: Date;
}

/** Adds `kapi breaches` and `kapi evidence` to the program. */
export function addEvidence(program: Command, surroundings: Surroundings): void {
  addList(program, "breaches <account>", "The breaches of an account's risk rules, newest first")
    .option("--rule <id>", "only breaches of this rule")
    .action(async (account: string, { rule: ruleId, ...options }: ListOptions & { rule?: string }) => {
      const session = await openSession(surroundings, options);
      await showList(session, options, session.server().account(account).breaches({ ruleId }), BREACH_COLUMNS);
    });
  withGlobalOptions(
    program
      .command("evidence <account> [breach]")
      .description("Print the signed evidence of a breach or of an interval as JSON, to be stored in a file"),
  )
    .option("--from <time>", "beginning of the interval, within the last 24 hours", time)
    .option("--to <time>", "end of the interval, at most 10 minutes later", time)
    .action(async (account: string, breach: string | undefined, options: EvidenceOptions) => {
      const { server } = await openSession(surroundings, options);
      const resource = server().account(account);
      const { from, to } = options;
      const isInterval = from !== undefined && to !== undefined;
      if ((breach === undefined) !== isInterval || (!isInterval && (from ?? to) !== undefined)) {
        throw new UsageError("Give either a breach, or --from and --to.");
      }
      const document = isInterval
        ? await resource.intervalEvidence({ from, to })
        : await resource.breachEvidence(breach ?? "");
      surroundings.out(`${JSON.stringify(document, null, 2)}\n`);
    });
}
