/** A promise with the functions that settle it. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: Error) => void;
}

/** Returns a new {@link Deferred}. */
export function deferred<T>(): Deferred<T> {
  return Promise.withResolvers<T>();
}
