import { LRUCache } from "lru-cache";

import type { CommandRepository, StoredCommand } from "../../domain/ports.ts";

/** Maximum number of cached commands. */
const MAX_REMEMBERED = 10_000;
/** Maximum total size of the cached commands, in characters. */
const MAX_CHARACTERS = 16 * 1024 * 1024;
/** Maximum size of one command, in characters: large results of exports are not cached. */
const MAX_CHARACTERS_EACH = 16 * 1024;
/** Size of an entry without its JSON. */
const ENTRY_CHARACTERS = 200;

/**
 * Wraps a repository with a cache of final commands. Final commands never change
 * (`domain/command-state.ts`), so cached ones are never stale. Other commands are always read.
 */
export function withFinalCommandCache(repository: CommandRepository): CommandRepository {
  const cache = new LRUCache<string, StoredCommand>({
    max: MAX_REMEMBERED,
    maxSize: MAX_CHARACTERS,
    maxEntrySize: MAX_CHARACTERS_EACH,
    sizeCalculation: ({ json }) => json.length + ENTRY_CHARACTERS,
  });
  const cacheIfFinal = (command: StoredCommand): void => {
    if (command.isFinal) cache.set(command.commandId, command);
  };
  return {
    ...repository,
    byIds: async (commandIds) => {
      const known = commandIds.map((commandId) => cache.get(commandId));
      const unknown = commandIds.filter((_, index) => known[index] === undefined);
      if (unknown.length === 0) return known.map((command) => command ?? null);
      const read = (await repository.byIds(unknown)).values();
      return known.map((command) => {
        if (command !== undefined) return command;
        const found = read.next().value ?? null;
        if (found !== null && found !== "later") cacheIfFinal(found);
        return found;
      });
    },
  };
}
