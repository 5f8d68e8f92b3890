import { TOPICS, directoryKey } from "@kapi/contracts";
import type { Producer } from "@kapi/kafka";

import type { DirectoryStore } from "../../domain/directory/ports.ts";

/**
 * Publishes every entry of the directory again, so that the topic tells all that the database does,
 * also where the topic is new. Readers keep the highest version, so a repeat changes nothing.
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
