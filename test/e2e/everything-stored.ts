/**
 * Reads everything that a running kapi has stored, as bytes to search: the records of all topics,
 * all keys of Redis, all rows of all tables, and the files and logs of its processes and servers.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

import { TOPICS } from "@kapi/contracts";
import { createKafka, startLogReader, type Message } from "@kapi/kafka";
import { createLogger } from "@kapi/runtime";
import type { TestStack } from "@kapi/local/test-stack";
import { Redis } from "ioredis";
import pg from "pg";

/** A record, key, table row or file, and where it is. */
export interface Stored {
  readonly where: string;
  readonly bytes: Buffer;
}

/** Everything stored, by kind of store. */
export interface EverythingStored {
  readonly topics: readonly Stored[];
  readonly redis: readonly Stored[];
  readonly postgres: readonly Stored[];
  readonly files: readonly Stored[];
}

const SCAN_COUNT = "1000";

/** By type of Redis key: the command that reads the whole value of a key. */
const REDIS_READS: Readonly<Record<string, (key: Buffer) => [string, ...(string | Buffer)[]]>> = {
  string: (key) => ["GET", key],
  hash: (key) => ["HGETALL", key],
  list: (key) => ["LRANGE", key, "0", "-1"],
  set: (key) => ["SMEMBERS", key],
  zset: (key) => ["ZRANGE", key, "0", "-1", "WITHSCORES"],
  stream: (key) => ["XRANGE", key, "-", "+"],
};

/** Reads the current content of all stores. Throws for an unknown type of Redis key. */
export async function readEverything(stack: TestStack): Promise<EverythingStored> {
  const { stateDir, postgresUrl, redisUrl } = stack.environment;
  const [topics, redis, postgres] = await Promise.all([
    readTopics(stack),
    readRedis(redisUrl),
    readPostgres(postgresUrl),
  ]);
  return { topics, redis, postgres, files: [stateDir, `${stateDir}-stack`].flatMap(readFiles) };
}

/** Every record of a topic, from its beginning to its current end. */
export async function readTopic(stack: TestStack, topic: (typeof TOPICS)[keyof typeof TOPICS]): Promise<Message[]> {
  const { kafkaBrokers, topicPrefix } = stack.environment;
  const logger = createLogger({ service: "everything-stored", level: "error" });
  const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "everything-stored", topicPrefix, logger });
  const records: Message[] = [];
  const reader = await startLogReader(kafka, {
    topic,
    from: "beginning",
    onBatch: (_partition, messages) => {
      records.push(...messages);
    },
    logger,
    fatal: (error) => {
      throw error;
    },
  });
  await reader.value.caughtUp;
  await reader.stop();
  return records;
}

async function readTopics(stack: TestStack): Promise<Stored[]> {
  const topics = await Promise.all(
    Object.values(TOPICS).map(async (topic) => {
      const records = await readTopic(stack, topic);
      return records.map(({ key, value, headers, offset }) => ({
        where: `topic ${topic.name}, key ${key}, offset ${offset}`,
        bytes: Buffer.concat([Buffer.from(key), value, Buffer.from(Object.entries(headers).flat().join("\n"))]),
      }));
    }),
  );
  return topics.flat();
}

async function readRedis(url: string): Promise<Stored[]> {
  const redis = new Redis(url);
  const stored: Stored[] = [];
  try {
    let cursor = "0";
    do {
      const [next, keys] = (await redis.callBuffer("SCAN", cursor, "COUNT", SCAN_COUNT)) as [Buffer, Buffer[]];
      for (const key of keys) {
        const type = await redis.type(key);
        // The key expired or was deleted after the scan.
        if (type === "none") continue;
        const read = REDIS_READS[type];
        if (read === undefined) throw new TypeError(`cannot read a Redis key of type ${type}`);
        const value = await redis.callBuffer(...read(key));
        stored.push({ where: `Redis ${type} ${key.toString()}`, bytes: Buffer.concat([key, ...flat(value)]) });
      }
      cursor = next.toString();
    } while (cursor !== "0");
    return stored;
  } finally {
    redis.disconnect();
  }
}

function flat(reply: unknown): Buffer[] {
  if (Array.isArray(reply)) return reply.flatMap(flat);
  return Buffer.isBuffer(reply) ? [reply] : [];
}

/** Every row as text. PostgreSQL writes bytes in hexadecimal digits. */
async function readPostgres(url: string): Promise<Stored[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    const stored: Stored[] = [];
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ text: string }>(`select stored::text as text from ${name} as stored`);
      stored.push(...rows.map(({ text }) => ({ where: `table ${name}`, bytes: Buffer.from(text) })));
    }
    return stored;
  } finally {
    await client.end();
  }
}

function readFiles(folder: string): Stored[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .map((file) => ({ where: `file ${file}`, bytes: readFileSync(file) }));
}

/**
 * The encodings of a text to search for: plain, percent-encoded, hexadecimal, and base64 or
 * base64url at any offset in a longer text. The text must have no character that JSON or PostgreSQL
 * escapes.
 */
function formsOf(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  const hex = bytes.toString("hex");
  const base64 = [0, 1, 2].flatMap((before) => {
    const inside = insideBase64(bytes, before);
    return [inside, inside.replaceAll("+", "-").replaceAll("/", "_")];
  });
  return [...new Set([text, encodeURIComponent(text), hex, hex.toUpperCase(), ...base64])].map((form) =>
    Buffer.from(form),
  );
}

/**
 * The base64 form of a longer text that has `before` bytes before `bytes`: only the characters that
 * depend on `bytes` alone.
 */
function insideBase64(bytes: Buffer, before: number): string {
  const encoded = Buffer.concat([Buffer.alloc(before), bytes])
    .toString("base64")
    .replaceAll("=", "");
  const mixedWithBefore = Math.ceil((before * 8) / 6);
  const mixedWithAfter = (before + bytes.length) % 3 === 0 ? 0 : 1;
  return encoded.slice(mixedWithBefore, encoded.length - mixedWithAfter);
}

/** The `where` of each item of `stored` that contains one of `texts` in any encoding. */
export function locationsOf(texts: readonly string[], stored: readonly Stored[]): string[] {
  const forms = texts.flatMap(formsOf);
  return stored.filter(({ bytes }) => forms.some((form) => bytes.includes(form))).map(({ where }) => where);
}
