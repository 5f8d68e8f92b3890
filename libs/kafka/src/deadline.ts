import { delay } from "@kapi/kernel";

/** Settles as `promise` does, or rejects with the error of `late` after `timeoutMs`. */
export async function within<T>(promise: Promise<T>, timeoutMs: number, late: () => Error): Promise<T> {
  const cancel = new AbortController();
  const timeout = delay(timeoutMs, cancel.signal).then(() => {
    throw late();
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    timeout.catch(() => undefined);
    promise.catch(() => undefined);
    cancel.abort();
  }
}
