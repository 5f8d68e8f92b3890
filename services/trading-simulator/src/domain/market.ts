/**
 * The market of one server: a quote for each symbol. A symbol follows a random walk from the seed,
 * or plays a recording. If no caller sets a price, the same seed and number of ticks give the same
 * prices of random walks. The state is plain data. A restart continues from the stored state.
 */
import { assertDefined } from "@kapi/kernel";

import type { Prices, Quote } from "./prices.ts";
import { nextMid, type RandomState, randomState } from "./random-walk.ts";
import { advance, type Recording, type RecordingPosition } from "./recording.ts";
import { roundPrice, SYMBOLS, type SymbolSpec, symbolSpec } from "./symbols.ts";

/** Sources of prices. */
export interface Feed {
  readonly seed: string;
  readonly recording: Recording | null;
  /** Recorded milliseconds per millisecond of the market. */
  readonly recordingSpeed: number;
}

interface SymbolState extends RandomState {
  mid: number;
  bid: number;
  ask: number;
  /** True: the feed does not change the price. */
  held: boolean;
  /** Whether the market is closed ({@link Market.setOpen}). Absent in states of release 0.1.0. */
  closed?: boolean;
}

/** The stored state of a market, as JSON. The market changes it in place. */
export interface MarketState {
  /** The feed of this state; another feed starts a new market. */
  readonly feed: string;
  /** Number of ticks since the market began. */
  tick: number;
  /** True: the market moves only on request. */
  paused: boolean;
  readonly symbols: Record<string, SymbolState>;
  readonly recording: RecordingPosition;
}

/** Maximum number of recorded quotes per tick; later ones wait for the next tick. */
export const MAX_QUOTES_PER_TICK = 1_000;

/**
 * One for each trading server. A symbol that a caller names must exist. Nothing here reads a clock:
 * {@link Market.tick} moves the market.
 */
export class Market implements Prices {
  readonly #feed: Feed;
  readonly #state: MarketState;

  /** Continues `stored` if it has the same feed and all symbols. */
  constructor(feed: Feed, stored: MarketState | null) {
    this.#feed = feed;
    const isUsable = stored?.feed === feedName(feed) && [...SYMBOLS.keys()].every((symbol) => symbol in stored.symbols);
    this.#state = isUsable ? stored : freshState(feed);
  }

  get state(): MarketState {
    return this.#state;
  }

  quote(symbol: string): Quote {
    return this.#symbol(symbol);
  }

  isOpen(symbol: string): boolean {
    return this.#symbol(symbol).closed !== true;
  }

  /**
   * Closes or opens the market of a symbol. A closed market accepts no market order, and neither a
   * trader nor a flatten closes a position. Prices still move; stops, pending orders, stop-outs and
   * deletions of accounts still take effect.
   */
  setOpen(symbol: string, open: boolean): void {
    this.#symbol(symbol).closed = !open;
  }

  isHeld(symbol: string): boolean {
    return this.#symbol(symbol).held;
  }

  /**
   * One tick: every seeded symbol takes a step, then due recorded quotes follow one by one. Held
   * symbols do not change. Yields the symbols with a new quote: first the seeded ones, then the
   * recorded one after each quote.
   */
  *tick(intervalMs: number): Generator<readonly string[]> {
    this.#state.tick += 1;
    const seeded: string[] = [];
    for (const spec of SYMBOLS.values()) {
      if (spec.name === this.#feed.recording?.symbol) continue;
      const state = this.#symbol(spec.name);
      if (state.held) continue;
      state.mid = nextMid(state, state.mid, spec.basePrice, spec.stepDeviation);
      quoteAround(spec, state);
      seeded.push(spec.name);
    }
    yield seeded;
    const { recording, recordingSpeed } = this.#feed;
    if (recording === null || this.#symbol(recording.symbol).held) return;
    const stepMs = intervalMs * recordingSpeed;
    for (const index of advance(recording, this.#state.recording, stepMs, MAX_QUOTES_PER_TICK)) {
      playQuote(recording, index, this.#symbol(recording.symbol));
      yield [recording.symbol];
    }
  }

  /**
   * Sets and rounds the price of a symbol; the rounded price must be above 0. Unless `held`, a
   * seeded symbol continues its random walk from this price, and a recorded symbol continues with
   * its next recorded quote.
   */
  setQuote(symbol: string, quote: Quote, held: boolean): void {
    const spec = symbolSpec(symbol);
    const state = this.#symbol(symbol);
    state.bid = roundPrice(spec, quote.bid);
    state.ask = roundPrice(spec, quote.ask);
    state.mid = (state.bid + state.ask) / 2;
    state.held = held;
  }

  pause(paused: boolean): void {
    this.#state.paused = paused;
  }

  #symbol(name: string): SymbolState {
    return assertDefined(this.#state.symbols[name], `symbol ${name}`);
  }
}

function freshState(feed: Feed): MarketState {
  const symbols: Record<string, SymbolState> = {};
  for (const spec of SYMBOLS.values()) {
    const state = { ...randomState(feed.seed, spec.name), mid: spec.basePrice, bid: 0, ask: 0, held: false };
    quoteAround(spec, state);
    symbols[spec.name] = state;
  }
  const recorded = feed.recording === null ? undefined : symbols[feed.recording.symbol];
  if (feed.recording !== null && recorded !== undefined) playQuote(feed.recording, 0, recorded);
  const recording = { next: 0, elapsedMs: 0, round: 0 };
  return { feed: feedName(feed), tick: 0, paused: false, symbols, recording };
}

function feedName({ seed, recording }: Feed): string {
  if (recording === null) return `seed ${seed}`;
  return `seed ${seed}, ${recording.symbol} from ${recording.timesMs[0]}, ${recording.timesMs.length} quotes`;
}

/** The bid is at least one point: a conversion divides by prices. */
function quoteAround(spec: SymbolSpec, state: SymbolState): void {
  const point = 10 ** -spec.digits;
  const spread = spec.spreadPoints * point;
  state.bid = roundPrice(spec, Math.max(state.mid - spread / 2, point));
  state.ask = roundPrice(spec, state.bid + spread);
}

function playQuote(recording: Recording, index: number, state: SymbolState): void {
  state.bid = recording.bids[index] ?? state.bid;
  state.ask = recording.asks[index] ?? state.ask;
  state.mid = (state.bid + state.ask) / 2;
}
