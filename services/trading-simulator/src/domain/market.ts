/**
 * The market of one server: a quote per symbol. Every symbol walks by its own stream of the seed,
 * except one that a recording may play. Same seed and same number of ticks, same prices. The state
 * is plain data, so that a restarted server carries on where it was and no open position sees a
 * gap.
 */
import { assertDefined } from "@kapi/kernel";

import type { Prices, Quote } from "./prices.ts";
import { nextMid, type RandomState, randomState } from "./random-walk.ts";
import { advance, type Recording, type RecordingPosition } from "./recording.ts";
import { roundPrice, SYMBOLS, type SymbolSpec, symbolSpec } from "./symbols.ts";

/** What feeds a market. */
export interface Feed {
  readonly seed: string;
  readonly recording: Recording | null;
  /** Milliseconds of the recording for each millisecond of the market. */
  readonly recordingSpeed: number;
}

interface SymbolState extends RandomState {
  mid: number;
  bid: number;
  ask: number;
  /** True: the feed leaves the price alone. */
  held: boolean;
}

/** Everything about a market that changes. */
export interface MarketState {
  /** The feed that the state belongs to; with another one a market starts afresh. */
  readonly feed: string;
  tick: number;
  /** True: the market moves only when it is told to. */
  paused: boolean;
  readonly symbols: Record<string, SymbolState>;
  readonly recording: RecordingPosition;
}

/** Most recorded quotes in one tick; what is due beyond it comes with the next. */
export const MAX_QUOTES_PER_TICK = 1_000;

export class Market implements Prices {
  readonly #feed: Feed;
  readonly #state: MarketState;

  /** `stored` is used where it came from the same feed and has every symbol. */
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

  /** Symbols whose price the feed leaves alone. */
  isHeld(symbol: string): boolean {
    return this.#symbol(symbol).held;
  }

  /**
   * One tick of `intervalMs`: first every seeded symbol takes a step, then the recorded quotes that
   * became due follow one by one. Yields the symbols that have a new quote after each of these
   * steps.
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
   * Sets the price of a symbol; the feed goes on from there, or leaves it alone while `held`.
   * Rounded to its decimals.
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

function quoteAround(spec: SymbolSpec, state: SymbolState): void {
  const spread = spec.spreadPoints * 10 ** -spec.digits;
  state.bid = roundPrice(spec, state.mid - spread / 2);
  state.ask = roundPrice(spec, state.bid + spread);
}

function playQuote(recording: Recording, index: number, state: SymbolState): void {
  state.bid = recording.bids[index] ?? state.bid;
  state.ask = recording.asks[index] ?? state.ask;
  state.mid = (state.bid + state.ask) / 2;
}
