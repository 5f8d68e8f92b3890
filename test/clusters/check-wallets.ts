import { delay } from "@kapi/kernel";

import type { OperationKind } from "./operation-log.ts";
import type { Case } from "./case.ts";
import { pagesOf } from "./pages.ts";
import type { Organization } from "./cluster-harness.ts";

const WALLET_DEADLINE_MS = 90_000;
/** The usage line of a charge is written shortly after the charge. */
const LINES_SETTLE_MS = 5_000;
const MAX_EXAMPLES = 3;
/** Credits that a command costs. */
const PRICES: Readonly<Record<OperationKind, number>> = {
  deposit: 5,
  withdrawal: 5,
  rename: 5,
  creation: 10,
  "rule change": 5,
  enabling: 5,
};

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

/**
 * The amounts of a wallet add up and nothing stays reserved. The sum of the usage lines equals the
 * consumed credits. A command that succeeded costs its price. A read that was answered 5xx costs
 * nothing.
 */
export async function checkWallets(
  one: Case,
  commands: ReadonlyMap<string, { readonly status: string }>,
): Promise<void> {
  const checks = one.harness.organizations.map(async (organization, index) => {
    const what = `the wallet of organization ${index}`;
    const wrong = await one.waits.until(what, WALLET_DEADLINE_MS, () => different(one, index, organization, commands));
    if (wrong !== null) one.violations.add(`${what}: ${wrong}`);
  });
  await Promise.all(checks);
}

async function different(
  { operationLog }: Case,
  index: number,
  { api }: Organization,
  commands: ReadonlyMap<string, { readonly status: string }>,
): Promise<string | null> {
  const { wallet } = await api.get<{ wallet: WalletView }>("/credits/balance");
  // The organization sends no other request until the lines are read, so the amounts of the wallet
  // include exactly the lines up to `lastLineMs`. If a live client reconnects meanwhile, the
  // amounts can differ. Then the check is repeated.
  const lastLineMs = Date.now() + LINES_SETTLE_MS / 2;
  await delay(LINES_SETTLE_MS);
  const lines = new Map<string, UsageView>();
  for await (const line of pagesOf<UsageView>(api, "/credits/usage", "usage")) {
    // A new line moves older ones to later pages, so a line may be read twice.
    if (Date.parse(line.at) <= lastLineMs) lines.set(JSON.stringify(line), line);
  }
  const { availableCredits, reservedCredits, lifetimeConsumed, lifetimePurchased } = wallet;
  if (availableCredits + reservedCredits + lifetimeConsumed !== lifetimePurchased) return JSON.stringify(wallet);
  if (reservedCredits !== 0) return `${reservedCredits} credits stay reserved`;
  const byCommand = sums([...lines.values()], ({ commandId }) => commandId);
  const uncharged = operationLog.ofOrganization(index).filter(({ commandId, kind }) => {
    const isDone = commands.get(commandId ?? "")?.status === "succeeded";
    return isDone && byCommand.get(commandId ?? "") !== PRICES[kind];
  });
  if (uncharged.length > 0) {
    const examples = uncharged.slice(0, MAX_EXAMPLES).map(({ commandId, kind }) => {
      return `${kind} ${commandId}: ${byCommand.get(commandId ?? "") ?? 0}`;
    });
    return `${uncharged.length} commands are not charged with their price: ${examples.join(", ")}`;
  }
  const byRequest = sums([...lines.values()], ({ xRequestId }) => xRequestId);
  const charged = [...operationLog.failedReads].filter((requestId) => (byRequest.get(requestId) ?? 0) !== 0);
  if (charged.length > 0) return `${charged.length} reads that were answered 5xx are charged, such as ${charged[0]}`;
  const sum = [...lines.values()].reduce((credits, line) => credits + line.credits, 0);
  if (sum === lifetimeConsumed) return null;
  return `${lifetimeConsumed} credits are consumed, but the usage lines add up to ${sum}`;
}

/** Sums credits by `keyOf`; refunds are subtracted. */
function sums(lines: readonly UsageView[], keyOf: (line: UsageView) => string | null): Map<string, number> {
  const found = new Map<string, number>();
  for (const line of lines) {
    const key = keyOf(line);
    if (key !== null) found.set(key, (found.get(key) ?? 0) + line.credits);
  }
  return found;
}
