import { describe, expect, it } from "vitest";

import { type Feed, Market, MAX_QUOTES_PER_TICK, type MarketState } from "./market.ts";
import { advance, parseRecording, symbolOfFile } from "./recording.ts";
import { SYMBOLS } from "./symbols.ts";

const TICKS = `time,bid,ask
2020-01-01T22:00:00.000Z,1.12120,1.12172
2020-01-01T22:00:10.000Z,1.12121,1.12192
2020-01-01T22:00:10.500Z,1.12117,1.12161
`;
const BARS = `time,bidOpen,bidHigh,bidLow,bidClose,askOpen,askHigh,askLow,askClose
2012-02-01T00:00:00Z,1.57597,1.57606,1.57576,1.57580,1.57608,1.57610,1.57585,1.57589
`;
/** Timeout of a run with a fixed number of ticks, also on a slow machine. */
const LONG_RUN_TIMEOUT_MS = 120_000;

function seeded(seed: string): Feed {
  return { seed, recording: null, recordingSpeed: 1 };
}

/** One `expect` for all ticks: an `expect` for each tick would take seconds. */
function run(market: Market, ticks: number): string {
  let stepsWithoutQuote = 0;
  for (let tick = 0; tick < ticks; tick += 1)
    for (const moved of market.tick(250)) if (moved.length === 0) stepsWithoutQuote += 1;
  expect(stepsWithoutQuote).toBe(0);
  return JSON.stringify([...SYMBOLS.keys()].map((symbol) => market.quote(symbol)));
}

describe("the seeded market", () => {
  it("gives equal prices for equal seeds only", () => {
    expect(run(new Market(seeded("a"), null), 500)).toBe(run(new Market(seeded("a"), null), 500));
    expect(run(new Market(seeded("a"), null), 500)).not.toBe(run(new Market(seeded("b"), null), 500));
  });

  it("continues from its stored state", () => {
    const whole = new Market(seeded("a"), null);
    const first = new Market(seeded("a"), null);
    run(first, 200);
    const second = new Market(seeded("a"), JSON.parse(JSON.stringify(first.state)) as MarketState);
    expect(run(second, 300)).toBe(run(whole, 500));
  });

  it(
    "quotes at least eight symbols, every ask above its bid, and stays near the base price for a long time",
    {
      timeout: LONG_RUN_TIMEOUT_MS,
    },
    () => {
      const market = new Market(seeded("long"), null);
      run(market, 50_000);
      expect(SYMBOLS.size).toBeGreaterThanOrEqual(8);
      for (const spec of SYMBOLS.values()) {
        const { bid, ask } = market.quote(spec.name);
        expect(ask).toBeGreaterThan(bid);
        expect(Math.abs(bid / spec.basePrice - 1)).toBeLessThan(0.2);
      }
    },
  );

  it("keeps a held price until it is released", () => {
    const market = new Market(seeded("a"), null);
    market.setQuote("EURUSD", { bid: 1.2, ask: 1.2001 }, true);
    run(market, 10);
    expect(market.quote("EURUSD")).toMatchObject({ bid: 1.2, ask: 1.2001 });
    market.setQuote("EURUSD", { bid: 1.2, ask: 1.2001 }, false);
    run(market, 10);
    expect(market.quote("EURUSD").bid).not.toBe(1.2);
  });
});

it("the seeded market quotes no price of 0 or below, even near the lowest price that can be set", () => {
  const market = new Market(seeded("a"), null);
  for (const { name, digits } of SYMBOLS.values())
    market.setQuote(name, { bid: 10 ** -digits, ask: 10 ** -digits }, false);
  run(market, 1);
  for (const spec of SYMBOLS.values()) expect(market.quote(spec.name).bid, spec.name).toBeGreaterThan(0);
});

describe("recorded quotes", () => {
  it("are read from ticks and minute bars, and errors name the line", () => {
    expect(parseRecording("EURUSD", TICKS)).toMatchObject({ bids: [1.1212, 1.12121, 1.12117] });
    // A falling bar: open, high, low, close.
    expect(parseRecording("GBPUSD", BARS).bids).toEqual([1.57597, 1.57606, 1.57576, 1.5758]);
    expect(() => parseRecording("EURUSD", `${TICKS}nonsense,1,2\n`)).toThrow(
      "line 5: must be a time and 2 prices above 0",
    );
    expect(() => parseRecording("EURUSD", "a,b\n1,2")).toThrow("line 1");
    expect(symbolOfFile("/data/EURUSD-ticks-2020-01.csv", SYMBOLS)).toBe("EURUSD");
    expect(symbolOfFile("/data/quotes.csv", SYMBOLS)).toBeNull();
  });

  it("become due one by one, are live prices of their symbol, and start again at the end", () => {
    const recording = parseRecording("EURUSD", TICKS);
    const market = new Market({ seed: "a", recording, recordingSpeed: 20 }, null);
    const seen: number[] = [];
    const tick = (): void => {
      for (const moved of market.tick(250)) if (moved.includes("EURUSD")) seen.push(market.quote("EURUSD").bid);
    };
    expect(market.quote("EURUSD").bid).toBe(1.1212);
    tick();
    expect(seen).toEqual([1.1212]);
    tick();
    expect(seen).toEqual([1.1212, 1.12121]);
    tick();
    tick();
    expect(seen).toEqual([1.1212, 1.12121, 1.12117, 1.1212]);
    expect(market.quote("GBPUSD").bid).toBeGreaterThan(1);
  });

  it("are limited per tick, and none is skipped", () => {
    const lines = Array.from(
      { length: 2_500 },
      (_, index) => `${new Date(index * 1_000).toISOString()},${1 + index},9999`,
    );
    const recording = parseRecording("EURUSD", `time,bid,ask\n${lines.join("\n")}`);
    const position = { next: 0, elapsedMs: 0, round: 0 };
    const played: number[] = [];
    for (let tick = 0; tick < 3; tick += 1) {
      const due = advance(recording, position, Number.MAX_SAFE_INTEGER, MAX_QUOTES_PER_TICK);
      expect(due.length).toBe(MAX_QUOTES_PER_TICK);
      played.push(...due);
    }
    expect(played.slice(0, 2_502)).toEqual([...Array(2_500).keys(), 0, 1]);
  });
});
