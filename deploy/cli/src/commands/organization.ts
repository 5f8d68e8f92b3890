import { ORGANIZATION_ROUTES } from "@kapi/contracts";
import type { Command } from "commander";

import { addCommand, type CommandContext, type PrintOptions, wholeNumber } from "../context.ts";
import { fields, table } from "../output.ts";

interface CreateOptions extends PrintOptions {
  readonly name: string;
  readonly credits: number;
  readonly lowBalance?: number;
}

/** `kapi admin organization create|list` */
export function addOrganization(program: Command, context: CommandContext): void {
  const organization = program.command("organization").description("Organizations and their wallets");
  addCommand(organization, "create", "Create an organization with a wallet")
    .requiredOption("--name <name>", "name of the organization")
    .option("--credits <number>", "initial credits", wholeNumber(0), 0)
    .option(
      "--low-balance <number>",
      "the wallet counts as low if it has this number of credits or fewer",
      wholeNumber(0),
    )
    .action((options: CreateOptions) => create(context, options));
  addCommand(organization, "list", "List all organizations, newest first").action((options: PrintOptions) =>
    list(context, options),
  );
}

async function create(context: CommandContext, options: CreateOptions): Promise<void> {
  const { name, credits, lowBalance } = options;
  const threshold = lowBalance === undefined ? {} : { lowBalanceThreshold: lowBalance };
  const body = { name, credits, ...threshold };
  const created = await context.operator("organization").call(ORGANIZATION_ROUTES.createOrganization, { body });
  context.print(options, created, ({ organizationId }) => fields({ organization: organizationId, name, credits }));
}

async function list(context: CommandContext, options: PrintOptions): Promise<void> {
  const { listOrganizations } = ORGANIZATION_ROUTES;
  const organizations = await context
    .operator("organization")
    .list(listOrganizations, {}, (page) => page.organizations);
  context.print(options, organizations, (rows) =>
    table(rows, [
      { heading: "ORGANIZATION", of: (row) => row.organizationId },
      { heading: "NAME", of: (row) => row.name },
      { heading: "CREATED", of: (row) => row.createdAt },
    ]),
  );
}
