import { type DirectoryEntry, TOPICS, directoryKey } from "@kapi/contracts";
import type { OutboxTransaction } from "@kapi/outbox";

import { enqueue } from "../outbox.ts";

/** Publishes a changed entry of the directory after the commit. */
export function announce(tx: OutboxTransaction, entry: DirectoryEntry): void {
  enqueue(tx, TOPICS.organizationDirectory, directoryKey(entry), JSON.stringify(entry));
}
