/** A promise together with the two functions that end it. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: Error) => void;
}

/** Makes a {@link Deferred}; for queues whose callers wait for a later batch. */
export function deferred<T>(): Deferred<T> {
  return Promise.withResolvers<T>();
}
