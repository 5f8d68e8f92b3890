import type { CommandRepository } from "../domain/ports.ts";

/**
 * Returns the body of a look-up, as JSON text:
 * `{commands: [{fingerprint, organizationId, derivationKeyId, command} | "later" | null]}`. It has
 * one entry per id, in order. `later` replaces a command whose large result did not fit into this
 * body ({@link CommandRepository.byIds}). Fingerprints are never deleted, so a request with an old
 * idempotency key is still recognized as a duplicate (decisions, 2.5).
 */
export async function lookUpCommands(repository: CommandRepository, commandIds: readonly string[]): Promise<string> {
  const found = await repository.byIds(commandIds);
  const commands = found.map((command) => {
    if (command === null) return "null";
    if (command === "later") return '"later"';
    const { fingerprint, organizationId, derivationKeyId, json } = command;
    const known = { fingerprint, organizationId, derivationKeyId };
    return `${JSON.stringify(known).slice(0, -1)},"command":${json}}`;
  });
  return `{"commands":[${commands.join(",")}]}`;
}
