import type { Engine } from "./engine.ts";
import type { TradingServer } from "./server.ts";

/**
 * The outcome of each reference (JSON text), in order, when it is stored. A reference without one is closed: a change
 * that carries it, even one that is still on its way inside this server, can never apply afterwards.
 */
export async function settleReferences(
  engine: Engine,
  server: TradingServer,
  references: readonly string[],
): Promise<string[]> {
  engine.refuseWhenFull();
  const { serverId } = server;
  const lookUp = await engine.references.lookUp(serverId, references);
  try {
    const outcomes = references.map((reference) => {
      const known = lookUp.find(reference);
      if (known !== undefined) return known;
      const outcome = JSON.stringify({ reference, status: "closed" });
      engine.committer.append({ serverId, accountNumber: null, sequence: null, reference, event: null, outcome });
      engine.references.remember(serverId, reference, outcome);
      return outcome;
    });
    await engine.committer.stored();
    return outcomes;
  } finally {
    lookUp.release();
  }
}
