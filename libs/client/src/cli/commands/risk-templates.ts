import { readFileSync } from "node:fs";

import { type Command, Option } from "commander";

import type { RiskTemplate, TemplateAccountRules } from "../../generated/api.ts";
import { parseAnswer } from "../../money.ts";
import type { NewRiskTemplate } from "../../resources/risk-templates.ts";
import type { GlobalOptions } from "../connection.ts";
import { addMutation, carryOut, type MutationOptions, openSession, withGlobalOptions } from "../context.ts";
import { UsageError } from "../exit.ts";
import type { Column } from "../output.ts";
import type { Surroundings } from "../surroundings.ts";

const COLUMNS: readonly Column<RiskTemplate>[] = [
  { heading: "NAME", of: ({ name }) => name },
  { heading: "VERSION", of: ({ version }) => version, alignRight: true },
  { heading: "STATUS", of: ({ appliesTo }) => appliesTo.status?.join(",") ?? "any" },
  { heading: "NAME STARTS WITH", of: ({ appliesTo }) => appliesTo.nameStartsWith ?? "" },
  { heading: "NEW ACCOUNTS", of: ({ newAccounts }) => (newAccounts ? "yes" : "no") },
  { heading: "PROGRESS", of: ({ progress }) => progress },
  { heading: "APPLIED", of: ({ accounts }) => accounts.applied, alignRight: true },
  { heading: "WAITING", of: ({ accounts }) => accounts.waiting, alignRight: true },
  { heading: "FAILED", of: ({ accounts }) => accounts.failed, alignRight: true },
];

/** Adds `kapi risk-templates …` to the program. */
export function addRiskTemplates(program: Command, surroundings: Surroundings): void {
  const templates = program
    .command("risk-templates")
    .description("Risk templates of a server: rules for the accounts that they match");
  withGlobalOptions(templates.command("list").description("List the templates, oldest first")).action(
    async (options: GlobalOptions) => {
      const session = await openSession(surroundings, options);
      session.output.rows(await session.server().riskTemplates.list(), COLUMNS);
    },
  );
  withGlobalOptions(
    templates.command("get <name>").description("Show a template, in the form that `set` reads"),
  ).action(async (name: string, options: GlobalOptions) => {
    const { output, server } = await openSession(surroundings, options);
    const template = await server().riskTemplates.get(name);
    output.print(template, () => `${JSON.stringify(template, null, 2)}\n`);
  });
  addMutation(templates, "set <name> <file>", "Set a template from a JSON file: rules, appliesTo, newAccounts").action(
    async (name: string, file: string, options: MutationOptions) => {
      const session = await openSession(surroundings, options);
      const template = readTemplate(file);
      await carryOut(session, options, (queued) => session.server().riskTemplates.set(name, template, queued));
    },
  );
  addMutation(templates, "delete <name>", "Delete a template")
    .addOption(
      new Option("--account-rules <what>", "what happens to the rules that accounts have from the template")
        .choices(["keep", "remove"])
        .makeOptionMandatory(),
    )
    .action(async (name: string, options: MutationOptions & { accountRules: TemplateAccountRules }) => {
      const session = await openSession(surroundings, options);
      const { accountRules } = options;
      await carryOut(session, options, (queued) => session.server().riskTemplates.delete(name, accountRules, queued));
    });
}

/** The template of a file; kapi checks its fields. Amounts may be numbers. */
function readTemplate(file: string): NewRiskTemplate {
  try {
    return parseAnswer(readFileSync(file, "utf8")) as NewRiskTemplate;
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
