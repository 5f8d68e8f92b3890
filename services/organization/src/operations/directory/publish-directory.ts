import { TOPICS, directoryKey } from "@kapi/contracts";
import type { Producer } from "@kapi/kafka";

import type { DirectoryStore } from "../../domain/directory/ports.ts";

/**
 * Publishes the whole directory, at every start: the topic may have been recreated. Readers keep
 * the highest version, so a repeat changes nothing.
 *
 * Another process may publish a change of an entry after this one has read the entry. Compaction
 * would then keep the older version, because it is published last. So the directory is read again,
 * and changed entries are published again, until nothing has changed.
 *
 * Returns the number of entries.
 */
export async function publishDirectory(
  store: Pick<DirectoryStore, "readDirectory">,
  producer: Producer,
): Promise<number> {
  const published = new Map<string, number>();
  let changes: number;
  do {
    changes = 0;
    for await (const entries of store.readDirectory()) {
      const changed = entries.filter((entry) => published.get(directoryKey(entry)) !== entry.version);
      await Promise.all(
        changed.map((entry) => {
          published.set(directoryKey(entry), entry.version);
          return producer.send(TOPICS.organizationDirectory, {
            key: directoryKey(entry),
            value: JSON.stringify(entry),
          });
        }),
      );
      changes += changed.length;
    }
  } while (changes > 0);
  return published.size;
}
