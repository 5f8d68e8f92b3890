import { LRUCache } from "lru-cache";

import type { CommandStore, StoredCommand } from "../../domain/ports.ts";

/** Most final commands that are remembered. */
const MAX_REMEMBERED = 10_000;
/**
 * The most characters that they have together; an export's result of some megabytes is no use here.
 */
const MAX_CHARACTERS = 16 * 1024 * 1024;
const MAX_CHARACTERS_EACH = 16 * 1024;
/** What an entry takes besides its texts. */
const ENTRY_CHARACTERS = 200;

/**
 * Wraps a store: final commands that were read lately are answered from memory. A final command
 * never changes, whichever process wrote it (`domain/command-state.ts`), so none of them is ever
 * stale; what is not final is always read.
 */
export function rememberingFinal(store: CommandStore): CommandStore {
  const remembered = new LRUCache<string, StoredCommand>({
    max: MAX_REMEMBERED,
    maxSize: MAX_CHARACTERS,
    maxEntrySize: MAX_CHARACTERS_EACH,
    sizeCalculation: ({ json }) => json.length + ENTRY_CHARACTERS,
  });
  const remember = (command: StoredCommand): void => {
    if (command.isFinal) remembered.set(command.commandId, command);
  };
  return {
    ...store,
    byIds: async (commandIds) => {
      const known = commandIds.map((commandId) => remembered.get(commandId));
      const unknown = commandIds.filter((_, index) => known[index] === undefined);
      if (unknown.length === 0) return known.map((command) => command ?? null);
      const read = (await store.byIds(unknown)).values();
      return known.map((command) => {
        if (command !== undefined) return command;
        const found = read.next().value ?? null;
        if (found !== null && found !== "later") remember(found);
        return found;
      });
    },
  };
}
