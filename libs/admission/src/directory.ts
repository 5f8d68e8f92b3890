import {
  DEFAULT_PRICES,
  DirectoryEntry,
  type KeyEntry,
  type Prices,
  type PricesEntry,
  type ServerEntry,
  TOPICS,
  directoryKey,
} from "@kapi/contracts";
import { type KafkaConnection, type LogReader, type Message, startLogReader } from "@kapi/kafka";
import type { Logger, Started } from "@kapi/runtime";

/** Maximum time to read the topic at the start. After that time the start fails. */
const CATCH_UP_DEADLINE_MS = 60_000;

/** Where the topic `organization.directory` is read, and what happens if reading stops. */
export interface DirectoryOptions {
  readonly kafka: KafkaConnection;
  readonly logger: Logger;
  /** Called once if the topic's reader stops with an error: the directory would become stale. */
  readonly fatal: (error: Error) => void;
}

/**
 * The newest entries of keys (also revoked keys), servers (also removed servers) and prices, in
 * memory. They are kept up to date from `organization.directory`.
 */
export interface Directory {
  readonly key: (keyId: string) => KeyEntry | undefined;
  readonly server: (serverId: string) => ServerEntry | undefined;
  readonly servers: () => Iterable<ServerEntry>;
  /** The operator's prices, or {@link DEFAULT_PRICES} until the operator sets prices. */
  readonly prices: () => Prices;
  /**
   * Calls `listener` with every entry that takes effect from now on. After an unreadable record of
   * a known key, the listener gets the key as revoked. After an unreadable record of a server, the
   * listener gets nothing. Returns a function that removes the listener.
   */
  readonly onChange: (listener: (entry: DirectoryEntry) => void) => () => void;
  /** Null, or why the directory may be stale; for health checks. */
  readonly check: () => string | null;
}

/** Reads the directory. Resolves after all records that the topic had at the start are applied. */
export async function startDirectory(options: DirectoryOptions): Promise<Started<Directory>> {
  const state = createDirectoryState(options.logger);
  const reader: Started<LogReader> = await startLogReader(options.kafka, {
    topic: TOPICS.organizationDirectory,
    from: "beginning",
    onBatch: (_partition, messages) => messages.forEach(state.apply),
    logger: options.logger,
    fatal: options.fatal,
  });
  try {
    await withDeadline(reader.value.caughtUp);
  } catch (error) {
    await reader.stop();
    throw error;
  }
  return { value: { ...state.directory, check: () => reader.value.check() }, stop: () => reader.stop() };
}

/** The state of a {@link Directory}, independent of Kafka. */
export interface DirectoryState {
  readonly directory: Omit<Directory, "check">;
  readonly apply: (record: Pick<Message, "key" | "value">) => void;
}

/**
 * Creates an empty directory. Of the records of an entity the highest version wins, in any order of
 * arrival. An unreadable record removes its key or server.
 */
export function createDirectoryState(logger: Logger): DirectoryState {
  const keys = new Map<string, KeyEntry>();
  const servers = new Map<string, ServerEntry>();
  const listeners = new Set<(entry: DirectoryEntry) => void>();
  let prices: PricesEntry | undefined;

  const store = (entry: DirectoryEntry): boolean => {
    const known =
      entry.kind === "key" ? keys.get(entry.keyId) : entry.kind === "server" ? servers.get(entry.serverId) : prices;
    if (known && !replaces(entry, known)) return false;
    if (entry.kind === "key") keys.set(entry.keyId, entry);
    else if (entry.kind === "server") servers.set(entry.serverId, entry);
    else prices = entry;
    return true;
  };
  const notify = (entry: DirectoryEntry): void => {
    for (const listener of listeners) listener(entry);
  };
  const apply: DirectoryState["apply"] = (record) => {
    const entry = entryFromWire(record.value);
    if (!entry || directoryKey(entry) !== record.key) {
      // An unreadable record may be a revocation: reject the entity until a readable record
      // arrives.
      logger.error(
        { key: record.key },
        "unreadable directory record: its key or server is rejected until a readable record arrives",
      );
      const keyId = record.key.slice("key/".length);
      const key = keys.get(keyId);
      keys.delete(keyId);
      servers.delete(record.key.slice("server/".length));
      if (key !== undefined) notify({ ...key, status: "revoked" });
      return;
    }
    if (store(entry)) notify(entry);
  };
  return {
    apply,
    directory: {
      key: (keyId) => keys.get(keyId),
      server: (serverId) => servers.get(serverId),
      servers: () => servers.values(),
      prices: () => prices?.prices ?? DEFAULT_PRICES,
      onChange: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
  };
}

/**
 * Whether `entry` replaces `known`, an entry of the same entity. The organization service of
 * release 0.1.0 publishes servers without their token: of two records of one version, the record
 * with the token wins.
 */
function replaces(entry: DirectoryEntry, known: DirectoryEntry): boolean {
  if (entry.version !== known.version) return entry.version > known.version;
  return hasToken(entry) && !hasToken(known);
}

function hasToken(entry: DirectoryEntry): boolean {
  return entry.kind === "server" && entry.sealedToken !== undefined;
}

function entryFromWire(value: Buffer): DirectoryEntry | null {
  let json: unknown;
  try {
    json = JSON.parse(value.toString("utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  const parsed = DirectoryEntry.safeParse(json);
  return parsed.success ? parsed.data : null;
}

async function withDeadline(caughtUp: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(new Error(`${TOPICS.organizationDirectory.name} was not read to its end in ${CATCH_UP_DEADLINE_MS} ms`)),
      CATCH_UP_DEADLINE_MS,
    );
  });
  try {
    await Promise.race([caughtUp, late]);
  } finally {
    clearTimeout(timer);
  }
}
