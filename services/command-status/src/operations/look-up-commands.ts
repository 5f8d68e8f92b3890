import type { CommandStore } from "../domain/ports.ts";

/**
 * The body of a look-up, as JSON text:
 * `{commands: [{fingerprint, organizationId, derivationKeyId, command} | "later" | null]}`, one per
 * id, in order; `later` is one that did not fit beside the others. Fingerprints are kept for good,
 * so that an old idempotency key still answers as a duplicate (decisions, 2.5).
 */
export async function lookUpCommands(store: CommandStore, commandIds: readonly string[]): Promise<string> {
  const found = await store.byIds(commandIds);
  const commands = found.map((command) => {
    if (command === null) return "null";
    if (command === "later") return '"later"';
    const { fingerprint, organizationId, derivationKeyId, json } = command;
    const known = { fingerprint, organizationId, derivationKeyId };
    return `${JSON.stringify(known).slice(0, -1)},"command":${json}}`;
  });
  return `{"commands":[${commands.join(",")}]}`;
}
