import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { asFailure, type Failure } from "../api/failure.ts";

/** Data that a page loads. Earlier data stays while a call runs, and after a failed call. */
export interface Data<T> {
  readonly value: T | null;
  readonly failure: Failure | null;
  /** True from the render that asks for data until the data has arrived or the call has failed. */
  readonly loading: boolean;
  /** Loads the data again. */
  readonly reload: () => void;
  /** Replaces the data with the answer to a change. */
  readonly set: (value: T) => void;
}

interface State<T> extends Pick<Data<T>, "value" | "failure"> {
  /** `wanted` of the last call that ended; null while a call runs. */
  readonly loaded: string | null;
}

/**
 * Calls `load` after the first render, when `key` changes, and on `reload`. A new call aborts the
 * call before it.
 */
export function useData<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Data<T> {
  const [round, setRound] = useState(0);
  const wanted = `${round} ${key}`;
  const [{ loaded, ...state }, setState] = useState<State<T>>({ value: null, failure: null, loaded: null });
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const given = new AbortController();
    setState(({ value }) => ({ value, failure: null, loaded: null }));
    latest
      .current(given.signal)
      .then((value) => {
        if (!given.signal.aborted) setState({ value, failure: null, loaded: wanted });
      })
      .catch((error: unknown) => {
        if (!given.signal.aborted) setState(({ value }) => ({ value, failure: asFailure(error), loaded: wanted }));
      });
    return () => given.abort();
  }, [wanted]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  const set = useCallback((value: T) => setState({ value, failure: null, loaded: wanted }), [wanted]);
  return { ...state, loading: loaded !== wanted, reload, set };
}

/**
 * While `isPending`, loads data again `intervalMs` milliseconds after each call has ended, also
 * after a failed call.
 */
export function useReloadWhile(
  isPending: boolean,
  { loading, reload }: Pick<Data<unknown>, "loading" | "reload">,
  intervalMs: number,
): void {
  const isWaiting = isPending && !loading;
  useEffect(() => {
    if (!isWaiting) return undefined;
    const timer = setTimeout(reload, intervalMs);
    return () => clearTimeout(timer);
  }, [isWaiting, reload, intervalMs]);
}

/** A change that a person makes: whether it is running, and why it failed. */
export interface Action {
  readonly busy: boolean;
  readonly failure: Failure | null;
  /** Runs the change, unless it is already running. */
  readonly run: () => void;
}

/** An action that runs `work`. If `work` rejects, the rejection becomes the action's failure. */
export function useAction(work: () => Promise<void>): Action {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const run = (): void => {
    if (busy) return;
    setBusy(true);
    setFailure(null);
    work()
      .catch((error: unknown) => setFailure(asFailure(error)))
      .finally(() => setBusy(false));
  };
  return { busy, failure, run };
}
