import { type Command, InvalidArgumentError } from "commander";

import { checkReceiver, type ReceiverCheckResult, ReceiverUnreachable } from "../../receiver-check/check-receiver.ts";
import type { GlobalOptions } from "../connection.ts";
import { address, withGlobalOptions } from "../context.ts";
import { Failure } from "../exit.ts";
import { type Column, Output } from "../output.ts";
import type { Surroundings } from "../surroundings.ts";

const COLUMNS: readonly Column<ReceiverCheckResult>[] = [
  { heading: "CHECK", of: ({ check }) => check },
  { heading: "EXPECTED", of: ({ expected }) => (expected === "accept" ? "2xx" : "4xx") },
  { heading: "ANSWER", of: ({ statuses }) => [...new Set(statuses.map((status) => status ?? "none"))].join(" ") },
  { heading: "MS", of: ({ durationMs }) => durationMs, alignRight: true },
  { heading: "RESULT", of: resultOf },
];

/** Adds `kapi check-webhooks` to the program. */
export function addCheckWebhooks(program: Command, surroundings: Surroundings): void {
  withGlobalOptions(
    program
      .command("check-webhooks")
      .description("Send a receiver repeated, forged, old and unknown events, and report its answers"),
  )
    .requiredOption("--url <url>", "address of the receiver", address)
    .requiredOption(
      "--secret <secret>",
      "the secret with which the receiver verifies signatures, whsec_…",
      signingSecret,
    )
    .action(async (options: GlobalOptions & { url: string; secret: string }) => {
      const output = new Output(surroundings, options.json === true);
      const results = await checkReceiver(options).catch((error: unknown) => {
        throw error instanceof ReceiverUnreachable ? new Failure(error.message) : error;
      });
      output.rows(results, COLUMNS);
      if (!output.isJson) for (const { check, problem, lookAt } of results) remark(output, check, problem, lookAt);
      const failed = results.filter(({ passed }) => !passed).length;
      if (failed > 0) throw new Failure(`${failed} of ${results.length} checks failed`);
      const unseen = results.filter((result) => resultOf(result) === "look").length;
      output.note(`${results.length} of ${results.length} checks passed; check ${unseen} effects yourself.`);
    });
}

/** `look`: the answers are right, but only the receiver shows the effect. */
function resultOf({ passed, lookAt }: ReceiverCheckResult): string {
  if (!passed) return "failed";
  return lookAt === undefined ? "ok" : "look";
}

function remark(output: Output, check: string, problem: string | undefined, lookAt: string | undefined): void {
  if (problem !== undefined) output.note(`${check}: ${problem}`);
  if (lookAt !== undefined) output.note(`${check}: check yourself: ${lookAt}`);
}

function signingSecret(text: string): string {
  if (/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text)) return text;
  throw new InvalidArgumentError("It must be a secret such as whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw.");
}
