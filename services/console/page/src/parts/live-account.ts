/**
 * The live samples of the accounts that the page shows. All parts of the page share one stream of
 * an account, and so show the same values.
 */
import { useEffect, useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import type { ConsoleApi } from "../api/console-api.ts";
import type { AccountMetricsFrame, LiveEnd, TradingAccount } from "../api/shapes.ts";
import { keptWith, NO_SAMPLES, type Samples } from "../charts/samples.ts";
import { liveValues } from "./live-values.ts";

/** Delay before a rejected or ended stream is opened again. */
const RECONNECT_DELAY_MS = 5_000;

/**
 * State of a stream. `lost`: it will be opened again. `deleted`: the account does not exist any
 * more.
 */
export type Connection = "connecting" | "live" | "lost" | "deleted";

/** The stream of an account: its connection, and its newest samples since it was first opened. */
export interface LiveState {
  readonly connection: Connection;
  readonly samples: Samples;
}

const NOTHING: LiveState = { connection: "connecting", samples: NO_SAMPLES };

/** The live samples of an account. Parts that watch the same account share the stream. */
export function useLive(serverId: string, accountNumber: string): LiveState {
  const api = useApi();
  const [state, setState] = useState(NOTHING);
  useEffect(() => watch(api, serverId, accountNumber, setState), [api, serverId, accountNumber]);
  return state;
}

/** An account with its newest live values, unless the loaded values are newer. */
export function useLiveAccount(account: TradingAccount): TradingAccount {
  const { samples } = useLive(account.serverId, account.accountNumber);
  return liveValues(account, samples.at(-1));
}

type Listener = (state: LiveState) => void;

/** The open streams by their address. */
const streams = new Map<string, Stream>();

/** Calls `listener` with each state; returns the function that stops this. */
function watch(api: ConsoleApi, serverId: string, accountNumber: string, listener: Listener): () => void {
  const address = api.liveAddress(serverId, accountNumber);
  const stream = streams.get(address) ?? new Stream(address, () => api.checkSession());
  streams.set(address, stream);
  stream.add(listener);
  return () => {
    if (stream.remove(listener)) streams.delete(address);
  };
}

class Stream {
  readonly #address: string;
  readonly #checkSession: () => void;
  readonly #listeners = new Set<Listener>();
  #state = NOTHING;
  #source: EventSource | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(address: string, checkSession: () => void) {
    this.#address = address;
    this.#checkSession = checkSession;
  }

  add(listener: Listener): void {
    this.#listeners.add(listener);
    listener(this.#state);
    if (this.#listeners.size === 1) this.#open();
  }

  /** Returns whether no listener is left; the stream is then closed. */
  remove(listener: Listener): boolean {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return false;
    clearTimeout(this.#timer);
    this.#source?.close();
    return true;
  }

  #open(): void {
    const source = new EventSource(this.#address);
    this.#source = source;
    source.addEventListener("open", () => this.#change({ connection: "live" }));
    source.addEventListener("sample", ({ data }: MessageEvent<string>) => {
      this.#change({ samples: keptWith(this.#state.samples, JSON.parse(data) as AccountMetricsFrame) });
    });
    source.addEventListener("end", ({ data }: MessageEvent<string>) => {
      const { reason } = JSON.parse(data) as LiveEnd;
      if (reason === "deleted") {
        source.close();
        this.#change({ connection: "deleted" });
        return;
      }
      this.#openAgain(source);
      if (reason === "signed_out") this.#checkSession();
    });
    source.addEventListener("error", () => {
      // The browser reconnects after a lost connection, but not after an error response.
      if (source.readyState !== EventSource.CLOSED) {
        this.#change({ connection: "lost" });
        return;
      }
      this.#openAgain(source);
      this.#checkSession();
    });
  }

  #openAgain(source: EventSource): void {
    source.close();
    this.#change({ connection: "lost" });
    this.#timer = setTimeout(() => this.#open(), RECONNECT_DELAY_MS);
  }

  #change(change: Partial<LiveState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener(this.#state);
  }
}
