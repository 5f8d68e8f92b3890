import { randomUUID } from "node:crypto";

import { CommandLineError, EXIT_CODES } from "@kapi/client/cli";
import { ORGANIZATION_ROUTES } from "@kapi/contracts";
import type { Command } from "commander";

import { addCommand, type CommandContext, type PrintOptions, wholeNumber } from "../context.ts";
import { fields } from "../output.ts";

interface OfOrganization extends PrintOptions {
  readonly organization: string;
}
interface AddOptions extends OfOrganization {
  readonly credits: number;
  readonly purchase?: string;
}

/** `kapi admin credits add|show` */
export function addCredits(program: Command, context: CommandContext): void {
  const credits = program.command("credits").description("Wallets of API credits");
  addCommand(credits, "add", "Add bought credits to an organization's wallet")
    .requiredOption("--organization <id>", "the organization")
    .requiredOption("--credits <number>", "number of credits", wholeNumber(1))
    .option("--purchase <id>", "a UUID of the purchase; credits of one purchase are added once (default: a new UUID)")
    .action((options: AddOptions) => add(context, options));
  addCommand(credits, "show", "Show an organization's wallet")
    .requiredOption("--organization <id>", "the organization")
    .action((options: OfOrganization) => show(context, options));
}

async function add(context: CommandContext, options: AddOptions): Promise<void> {
  const { organization, credits } = options;
  const body = { credits, purchaseId: options.purchase ?? randomUUID() };
  const params = { organizationId: organization };
  const operator = context.operator("organization");
  const added = await operator.call(ORGANIZATION_ROUTES.purchaseCredits, { params, body }).catch((error: unknown) => {
    if (!(error instanceof CommandLineError) || error.exitCode !== EXIT_CODES.notFinal) throw error;
    const advice = `Repeat the command with --purchase ${body.purchaseId}: then the credits are added once.`;
    throw new CommandLineError(`${error.message}\nThe credits may have been added. ${advice}`, error.exitCode);
  });
  context.print(options, added, ({ purchaseId, isNew = true }) =>
    fields({ added: isNew ? credits : "0 (the purchase was added before)", purchase: purchaseId }),
  );
}

async function show(context: CommandContext, options: OfOrganization): Promise<void> {
  const params = { organizationId: options.organization };
  const { wallet } = await context.operator("organization").call(ORGANIZATION_ROUTES.getCreditBalance, { params });
  context.print(options, wallet, () =>
    fields({
      available: wallet.availableCredits,
      reserved: wallet.reservedCredits,
      consumed: wallet.lifetimeConsumed,
      purchased: wallet.lifetimePurchased,
      "low balance": `${wallet.lowBalance ? "yes" : "no"} (at ${wallet.lowBalanceThreshold})`,
    }),
  );
}
