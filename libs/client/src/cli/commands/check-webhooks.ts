import type { Command } from "commander";

import { checkReceiver, type ReceiverFinding } from "../../receiver-check/check-receiver.ts";
import type { GlobalOptions } from "../connection.ts";
import { address, withGlobalOptions } from "../context.ts";
import { ReceiverFailure } from "../exit.ts";
import { type Column, Output } from "../output.ts";
import type { Surroundings } from "../surroundings.ts";

const COLUMNS: readonly Column<ReceiverFinding>[] = [
  { heading: "CHECK", of: ({ check }) => check },
  { heading: "EXPECTED", of: ({ expected }) => (expected === "accept" ? "2xx" : "4xx") },
  { heading: "ANSWER", of: ({ statuses }) => [...new Set(statuses.map((status) => status ?? "none"))].join(" ") },
  { heading: "MS", of: ({ durationMs }) => durationMs, alignRight: true },
  { heading: "RESULT", of: ({ passed }) => (passed ? "ok" : "failed") },
];

/** `kapi check-webhooks` */
export function addCheckWebhooks(program: Command, surroundings: Surroundings): void {
  withGlobalOptions(
    program.command("check-webhooks").description("Send a receiver what it must withstand, and say what it did"),
  )
    .requiredOption("--url <url>", "address of the receiver", address)
    .requiredOption("--secret <secret>", "the secret that it verifies with, whsec_…")
    .action(async (options: GlobalOptions & { url: string; secret: string }) => {
      const output = new Output(surroundings, options.json === true);
      const findings = await checkReceiver(options);
      output.rows(findings, COLUMNS);
      if (!output.isJson) for (const { check, problem, lookAt } of findings) remark(output, check, problem, lookAt);
      const failed = findings.filter(({ passed }) => !passed).length;
      if (failed > 0) throw new ReceiverFailure(`${failed} of ${findings.length} checks failed`);
    });
}

function remark(output: Output, check: string, problem: string | undefined, lookAt: string | undefined): void {
  if (problem !== undefined) output.note(`${check}: ${problem}`);
  if (lookAt !== undefined) output.note(`${check}: look yourself: ${lookAt}`);
}
