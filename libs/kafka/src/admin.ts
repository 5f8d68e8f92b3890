import type { Admin } from "kafkajs";

import type { KafkaConnection } from "./connection.ts";

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
