import { retry } from "@kapi/kernel";
import type { Admin } from "kafkajs";

import type { KafkaConnection } from "./connection.ts";
import { isRetriable, isUnreachable } from "./errors.ts";

/**
 * Time after the first attempt in which further attempts may begin. A partition may have no leader
 * that answers: because the partition is new, or because its leader is changing.
 */
const LEADER_TIMEOUT_MS = 10_000;
const LEADER_BACK_OFF = { firstMs: 50, maxMs: 500 };

/**
 * Runs `work` with an admin client, which is connected for this call only.
 * @throws if the cluster cannot be used, or what `work` throws.
 */
export async function withAdmin<T>(
  kafka: KafkaConnection,
  work: (admin: Admin) => Promise<T>,
  options: { readonly requestTimeoutMs?: number } = {},
): Promise<T> {
  const admin = kafka.client(options).admin();
  await kafka.connect(admin);
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

/**
 * Reads from the leaders of partitions. Tries again after an error that kafkajs marks as retriable,
 * but not if brokers cannot be reached. Each attempt has a new client, which asks for the leaders
 * again: the admin client of kafkajs fails if a broker no longer leads a partition.
 * @throws the error of the last attempt.
 */
export function fromLeaders<T>(kafka: KafkaConnection, read: (admin: Admin) => Promise<T>): Promise<T> {
  return retry(() => withAdmin(kafka, read), {
    backOff: LEADER_BACK_OFF,
    timeoutMs: LEADER_TIMEOUT_MS,
    isRetryable: (error) => isRetriable(error) && !isUnreachable(error),
  });
}
