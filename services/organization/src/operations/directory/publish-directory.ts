import { TOPICS, directoryKey } from "@kapi/contracts";
import type { Producer } from "@kapi/kafka";

import type { DirectoryStore } from "../../domain/directory/ports.ts";

/**
 * Publishes the whole directory, at every start: the topic may have been recreated. Readers keep
 * the highest version, so a repeat changes nothing. Returns the number of entries.
 */
export async function publishDirectory(
  store: Pick<DirectoryStore, "readDirectory">,
  producer: Producer,
): Promise<number> {
  let published = 0;
  for await (const entries of store.readDirectory()) {
    await Promise.all(
      entries.map((entry) =>
        producer.send(TOPICS.organizationDirectory, { key: directoryKey(entry), value: JSON.stringify(entry) }),
      ),
    );
    published += entries.length;
  }
  return published;
}
