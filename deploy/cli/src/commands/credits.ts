import { randomUUID } from "node:crypto";

import { Wallet } from "@kapi/contracts";
import type { Command } from "commander";
import { z } from "zod";

import { addCommand, type CommandContext, type Telling, wholeNumber } from "../context.ts";
import { organizationRoute } from "../operator.ts";
import { facts } from "../output.ts";

const Added = z.object({ purchaseId: z.guid() });
const Balance = z.object({ wallet: Wallet });

interface OfOrganization extends Telling {
  readonly organization: string;
}
interface AddOptions extends OfOrganization {
  readonly credits: number;
  readonly purchase?: string;
}

/** `kapi credits add|show` */
export function addCredits(program: Command, context: CommandContext): void {
  const credits = program.command("credits").description("Wallets of API credits");
  addCommand(credits, "add", "Add bought credits to an organization's wallet")
    .requiredOption("--organization <id>", "the organization")
    .requiredOption("--credits <number>", "how many", wholeNumber(1))
    .option(
      "--purchase <id>",
      "a UUID that names the purchase: the same one adds its credits once (default: a new one)",
    )
    .action((options: AddOptions) => add(context, options));
  addCommand(credits, "show", "Show an organization's wallet")
    .requiredOption("--organization <id>", "the organization")
    .action((options: OfOrganization) => show(context, options));
}

async function add(context: CommandContext, options: AddOptions): Promise<void> {
  const { organization, credits } = options;
  const body = { credits, purchaseId: options.purchase ?? randomUUID() };
  const added = await context.operator().post(organizationRoute(organization, "/credits"), body, Added);
  context.tell(options, added, ({ purchaseId }) => facts({ added: credits, purchase: purchaseId }));
}

async function show(context: CommandContext, options: OfOrganization): Promise<void> {
  const { wallet } = await context.operator().get(organizationRoute(options.organization, "/credits"), Balance);
  context.tell(options, wallet, () =>
    facts({
      available: wallet.availableCredits,
      reserved: wallet.reservedCredits,
      consumed: wallet.lifetimeConsumed,
      purchased: wallet.lifetimePurchased,
      "low balance": `${wallet.lowBalance ? "yes" : "no"} (at ${wallet.lowBalanceThreshold})`,
    }),
  );
}
