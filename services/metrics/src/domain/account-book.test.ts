import { describe, expect, it } from "vitest";

import { AccountBook, type BookRecord, type ClosedMinute } from "./account-book.ts";
import { frameOf } from "./sample.ts";

const account = { serverId: "0b0f4f0e-5a4e-4c39-8a39-1d8f0a8f0a01", accountNumber: "10000001" };
const firstMs = Date.parse("2026-03-01T10:00:00.000Z");

function record(sequence: number, seconds: number, equityMinor = 100_000): BookRecord {
  const span = { sequence, from: sequence - 2, to: sequence - 1 };
  const measuredAt = new Date(firstMs + seconds * 1_000).toISOString();
  const values = {
    balanceMinor: 100_000,
    equityMinor,
    marginMinor: 0,
    freeMarginMinor: equityMinor,
    marginLevel: 0,
    openPositionCount: 0,
  };
  const frame = frameOf(account, { span, values, measuredAt, minimum: { equityMinor, measuredAt } });
  return { span, frame, offset: sequence * 10 };
}

function shown(closed: ClosedMinute | null): object | null {
  if (closed === null) return null;
  const { measuredAtMs, sequence, equityMinor } = closed.snapshot;
  return { minute: (measuredAtMs - firstMs) / 60_000, sequence, equityMinor };
}

describe("the snapshots of an account", () => {
  it("are the last sample of each minute in which it changed, told when the minute is over", () => {
    const book = new AccountBook(account, null);
    expect(book.take(record(1, 5, 100))).toBeNull();
    expect(book.take(record(2, 59, 200))).toBeNull();
    expect(shown(book.take(record(3, 200, 300)))).toEqual({ minute: 0, sequence: 2, equityMinor: 200 });
    expect(book.closeEnded(firstMs + 239_999)).toBeNull();
    expect(shown(book.closeEnded(firstMs + 240_000))).toEqual({ minute: 3, sequence: 3, equityMinor: 300 });
    expect(book.closeEnded(firstMs + 999_999)).toBeNull();
  });

  it("tell from where the log must be read again until a minute is stored", () => {
    const book = new AccountBook(account, null);
    book.take(record(1, 5));
    book.take(record(2, 6));
    expect(book.openFrom).toBe(10);
    const closed = book.take(record(3, 65));
    expect(closed?.fromOffset).toBe(10);
    expect(book.openFrom).toBe(30);
  });

  it("are the same of a frame that is written in another form", () => {
    const [book, other] = [new AccountBook(account, null), new AccountBook(account, null)];
    const given = record(1, 5, -123_456);
    const turned = Object.fromEntries(Object.entries(JSON.parse(given.frame.toString()) as object).toReversed());
    book.take(given);
    other.take({ ...given, frame: Buffer.from(JSON.stringify(turned)) });
    const closed = book.closeEnded(Number.MAX_SAFE_INTEGER);
    expect(closed?.snapshot).toMatchObject({ equityMinor: -123_456, balanceMinor: 100_000, sequence: 1 });
    expect(other.closeEnded(Number.MAX_SAFE_INTEGER)).toEqual(closed);
  });

  it("pass over a sample with an amount that is no whole number of cents, and go on with the next", () => {
    const book = new AccountBook(account, null);
    const forged = record(1, 5).frame.toString().replace('"balance":1000,', '"balance":1000.005,');
    expect(book.take({ ...record(1, 5), frame: Buffer.from(forged) })).toBeNull();
    expect(book.openFrom).toBeNull();
    book.take(record(2, 6));
    expect(shown(book.closeEnded(Number.MAX_SAFE_INTEGER))).toEqual({ minute: 0, sequence: 2, equityMinor: 100_000 });
  });

  it("go on from what is stored: samples that are in it do not count again", () => {
    const first = new AccountBook(account, null);
    first.take(record(1, 5, 1_000));
    const closed = first.take(record(2, 65, 900));
    const second = new AccountBook(account, closed?.state ?? null);
    expect(second.isNext(record(1, 5))).toBe(false);
    expect(second.isNext(record(3, 66))).toBe(false);
    expect(second.isNext(record(2, 65))).toBe(true);
    second.take(record(2, 65, 900));
    expect(second.closeEnded(Number.MAX_SAFE_INTEGER)?.snapshot).toMatchObject({
      dailyDrawdown: 10,
      totalDrawdown: 10,
    });
  });
});
