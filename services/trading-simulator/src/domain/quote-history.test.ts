import { MIN_QUOTE_RETENTION_MS } from "@kapi/contracts";
import { describe, expect, it } from "vitest";

import { MAX_QUOTES_PER_SYMBOL, QUOTE_RETENTION_MS, QuoteHistory } from "./quote-history.ts";

const START_MS = Date.UTC(2026, 2, 2);

/** The n-th quote. */
function quote(n: number): { bid: number; ask: number } {
  return { bid: n, ask: n + 0.5 };
}

/** A history with a quote every `stepMs`, numbered from 0. */
function historyOf(count: number, stepMs: number): QuoteHistory {
  const history = new QuoteHistory();
  for (let n = 0; n < count; n += 1) history.record(START_MS + n * stepMs, quote(n));
  return history;
}

describe("the quotes of a symbol", () => {
  it("are found by time: the last quote at or before the time, and none before the first quote", () => {
    const history = historyOf(500, 100);
    for (const n of [0, 1, 63, 64, 65, 250, 499]) {
      const held = { atMs: START_MS + n * 100, ...quote(n) };
      expect(history.at(START_MS + n * 100)).toEqual(held);
      expect(history.at(START_MS + n * 100 + 99)).toEqual(held);
    }
    expect(history.at(START_MS - 1)).toBeNull();
    expect(history.at(START_MS + 3_600_000)).toMatchObject(quote(499));
    expect(new QuoteHistory().at(START_MS)).toBeNull();
  });

  it("are kept one per millisecond: the last one", () => {
    const history = historyOf(2, 100);
    history.record(START_MS + 100, quote(7));
    history.record(START_MS + 100, quote(8));
    expect(history.at(START_MS + 100)).toMatchObject(quote(8));
    expect(history.at(START_MS + 99)).toMatchObject(quote(0));
  });

  it("are kept for 10 minutes; for an earlier time there is no quote", () => {
    const stepMs = 250;
    const count = 3 * (QUOTE_RETENTION_MS / stepMs);
    const history = historyOf(count, stepMs);
    const lastMs = START_MS + (count - 1) * stepMs;
    for (let ageMs = 0; ageMs <= QUOTE_RETENTION_MS; ageMs += stepMs) {
      expect(history.at(lastMs - ageMs)).toMatchObject(quote(count - 1 - ageMs / stepMs));
    }
    expect(history.at(lastMs - QUOTE_RETENTION_MS - 1)).toBeNull();
  });

  it("include the quote that was current 10 minutes ago, however old it is", () => {
    const history = historyOf(1, 0);
    history.record(START_MS + 10 * QUOTE_RETENTION_MS, quote(1));
    expect(history.at(START_MS + 9 * QUOTE_RETENTION_MS)).toMatchObject(quote(0));
    history.record(START_MS + 11 * QUOTE_RETENTION_MS, quote(2));
    expect(history.at(START_MS + 9 * QUOTE_RETENTION_MS)).toBeNull();
  });

  it("are all found after a slow market became a fast one", () => {
    const history = new QuoteHistory();
    const slowMs = QUOTE_RETENTION_MS / 10;
    for (let n = 0; n < 100; n += 1) history.record(START_MS + n * slowMs, quote(n));
    const fastMs = START_MS + 99 * slowMs;
    for (let n = 100; n < 400; n += 1) history.record(fastMs + n - 99, quote(n));
    for (let n = 100; n < 400; n += 1) expect(history.at(fastMs + n - 99)).toMatchObject(quote(n));
    for (let n = 90; n < 100; n += 1) expect(history.at(START_MS + n * slowMs)).toMatchObject(quote(n));
  });

  it("are limited in number in the fastest market, but still kept for the 5 minutes of the contract", () => {
    const count = 1.5 * MAX_QUOTES_PER_SYMBOL;
    const lastMs = START_MS + count - 1;
    const history = new QuoteHistory();
    for (let n = 0; n < count; n += 1) {
      for (const bid of [n - 0.5, n]) history.record(START_MS + n, { ...quote(n), bid });
    }
    for (let ageMs = 0; ageMs < count; ageMs += 1_000) {
      const held = history.at(lastMs - ageMs);
      if (ageMs < MIN_QUOTE_RETENTION_MS) expect(held).toMatchObject(quote(count - 1 - ageMs));
      else expect(held).toBeNull();
    }
  });

  it("are replaced by the new ones if the clock goes back and repeats a time", () => {
    const history = historyOf(10, 100);
    history.record(START_MS + 450, quote(100));
    expect(history.at(START_MS + 449)).toMatchObject(quote(4));
    expect(history.at(START_MS + 500)).toMatchObject(quote(100));
    expect(history.at(START_MS + 900)).toMatchObject(quote(100));
  });
});
