/** The prices of the fake: the default prices of kapi. */
import type { FakeAnswer } from "./answers.ts";
import type { Json } from "./state.ts";

export const PRICES = { read: 1, mutation: 5, create: 10, bulkItem: 10, export: 20, liveConnection: 1 };

/** The operations that do not cost the price of a read or of a mutation. */
const CLASSES: Readonly<Record<string, keyof typeof PRICES>> = {
  createTradingAccount: "create",
  bulkCreateTradingAccounts: "bulkItem",
  exportAccountHistory: "export",
};

/** What a request costs. The id is that of the command that it queued; null without a command. */
interface Charge {
  readonly credits: number;
  readonly commandId: unknown;
}

/**
 * The charges of a successful request: one for each new command. A request that queued nothing new
 * has one charge.
 */
export function chargesOf(method: string, operation: string, { body }: FakeAnswer): Charge[] {
  const price = PRICES[method === "GET" ? "read" : (CLASSES[operation] ?? "mutation")];
  const envelopes = (body["results"] as readonly Json[] | undefined) ?? [body];
  const queued = envelopes.filter(({ duplicate }) => duplicate === false);
  if (queued.length > 0) return queued.map(({ command }) => ({ credits: price, commandId: (command as Json)["id"] }));
  const isRepeat = envelopes.some(({ duplicate }) => duplicate === true);
  return [{ credits: isRepeat ? PRICES.read : price, commandId: null }];
}
