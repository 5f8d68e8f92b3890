import type { Case } from "./checks.ts";
import { pagesOf } from "./pages.ts";
import type { Organization } from "./world.ts";

const WALLET_DEADLINE_MS = 90_000;
const MAX_EXAMPLES = 3;

interface WalletView {
  readonly availableCredits: number;
  readonly reservedCredits: number;
  readonly lifetimePurchased: number;
  readonly lifetimeConsumed: number;
}

interface UsageView {
  readonly xRequestId: string | null;
  readonly operation: string;
  readonly credits: number;
  readonly commandId: string | null;
  readonly at: string;
}

/** Wallets add up, nothing stays reserved, and what was consumed is what the lines of usage say, one for each command. */
export async function checkWallets(
  one: Case,
  commands: ReadonlyMap<string, { readonly status: string }>,
): Promise<void> {
  for (const [index, organization] of one.world.organizations.entries()) {
    const what = `the wallet of organization ${index}`;
    const wrong = await one.waits.until(what, WALLET_DEADLINE_MS, () => different(one, index, organization, commands));
    if (wrong !== null) one.findings.add(`${what}: ${wrong}`);
  }
}

async function different(
  { book }: Case,
  index: number,
  { api }: Organization,
  commands: ReadonlyMap<string, { readonly status: string }>,
): Promise<string | null> {
  // The lines first: reading them costs credits too, which the wallet has by then.
  const lines = new Map<string, UsageView>();
  for await (const line of pagesOf<UsageView>(api, "/credits/usage", "usage")) {
    // A line may move to the next page while they are read.
    lines.set(`${line.xRequestId} ${line.commandId} ${line.operation} ${line.at}`, line);
  }
  const { wallet } = await api.get<{ wallet: WalletView }>("/credits/balance");
  const { availableCredits, reservedCredits, lifetimeConsumed, lifetimePurchased } = wallet;
  if (availableCredits + reservedCredits + lifetimeConsumed !== lifetimePurchased) return JSON.stringify(wallet);
  if (reservedCredits !== 0) return `${reservedCredits} credits stay reserved`;
  const byCommand = Map.groupBy(
    [...lines.values()].filter(({ commandId, credits }) => commandId !== null && credits !== 0),
    ({ commandId }) => commandId ?? "",
  );
  const operations = book.ofOrganization(index);
  const uncharged = operations.filter(({ commandId }) => {
    const status = commands.get(commandId ?? "")?.status;
    return status === "succeeded" && byCommand.get(commandId ?? "")?.length !== 1;
  });
  if (uncharged.length > 0) {
    const counts = uncharged.slice(0, MAX_EXAMPLES).map(({ commandId }) => {
      return `${commandId}: ${byCommand.get(commandId ?? "")?.length ?? 0}`;
    });
    return `${uncharged.length} commands without exactly one line of usage: ${counts.join(", ")}`;
  }
  const charged = [...lines.values()].filter(({ xRequestId, commandId, credits }) => {
    return commandId === null && credits > 0 && book.failedReads.has(xRequestId ?? "");
  });
  if (charged.length > 0)
    return `${charged.length} reads that were answered 5xx are charged, such as ${charged[0]?.xRequestId}`;
  return sumDiffers([...lines.values()], lifetimeConsumed);
}

/** What was consumed after the first page was read is not in the lines: at most one credit for each page. */
function sumDiffers(lines: readonly UsageView[], consumed: number): string | null {
  const sum = lines.reduce((credits, line) => credits + line.credits, 0);
  const pages = Math.ceil(lines.length / 100) + 2;
  if (sum <= consumed && consumed - sum <= pages) return null;
  return `${consumed} credits are consumed, the lines of usage say ${sum}`;
}
