import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { type LoggedSample, SampleWindows, type WindowLimits } from "./sample-windows.ts";

const LIMITS: WindowLimits = { maxSamples: 5, maxAgeMs: 1_000, budgetBytes: 4 * 1_024, slabBytes: 1_024 };

function sample(sequence: number, atMs: number, text = `sample ${sequence}`): LoggedSample {
  return { sequence, from: sequence * 10 - 10, offset: sequence * 100, atMs, payload: Buffer.from(text) };
}

function texts(windows: SampleWindows, window: { first: number; last: number }): string[] {
  const kept: string[] = [];
  for (let sequence = window.first; sequence <= window.last; sequence += 1) {
    kept.push(windows.sample(window, sequence).payload.toString());
  }
  return kept;
}

describe("the store of the windows", () => {
  it("keeps the last samples of an account, up to the maximum number", () => {
    const windows = new SampleWindows(LIMITS);
    const window = windows.open();
    expect([window.first, window.last]).toEqual([1, 0]);
    for (let sequence = 1; sequence <= 12; sequence += 1) windows.append(window, sample(sequence, 0), 0);
    expect([window.first, window.last]).toEqual([8, 12]);
    expect(windows.sample(window, 9)).toEqual(sample(9, 0));
  });

  it("drops samples above the maximum age, but never an account's newest sample", () => {
    const windows = new SampleWindows(LIMITS);
    const window = windows.open();
    for (const [sequence, atMs] of [
      [1, 0],
      [2, 600],
      [3, 700],
    ] as const) {
      windows.append(window, sample(sequence, atMs), atMs);
    }
    windows.trim(window, 1_600);
    expect([window.first, window.last]).toEqual([2, 3]);
    windows.trim(window, 1_000_000);
    expect([window.first, window.last]).toEqual([3, 3]);
  });

  it("returns valid WebSocket frames, as many as fit, but at least one", () => {
    const windows = new SampleWindows({ ...LIMITS, slabBytes: 4_096 });
    const window = windows.open();
    const long = "y".repeat(200);
    windows.append(window, sample(1, 0, "x"), 0);
    windows.append(window, sample(2, 0, long), 0);
    const all = windows.frames(window, 1, 10_000);
    expect(all.bytes).toEqual(
      Buffer.concat([Buffer.from([0x81, 1]), Buffer.from("x"), Buffer.from([0x81, 126, 0, 200]), Buffer.from(long)]),
    );
    expect(all.next).toBe(3);
    expect(windows.frames(window, 1, 10).next).toBe(2);
    expect(windows.frames(window, 2, 10).next).toBe(3);
  });

  it("drops the oldest samples of all accounts if the memory budget is exceeded, but never an account's newest sample", () => {
    const windows = new SampleWindows({ ...LIMITS, maxSamples: 300 });
    const quiet = windows.open();
    windows.append(quiet, sample(1, 0, "quiet 1"), 0);
    windows.append(quiet, sample(2, 0, "quiet 2"), 0);
    const busy = windows.open();
    for (let sequence = 1; sequence <= 200; sequence += 1) windows.append(busy, sample(sequence, 0), 0);
    expect(texts(windows, quiet)).toEqual(["quiet 2"]);
    expect(windows.bytes).toBeLessThanOrEqual(LIMITS.budgetBytes);
    expect(busy.last).toBe(200);
    expect(busy.first).toBeGreaterThan(100);
    expect(texts(windows, busy).at(0)).toBe(`sample ${busy.first}`);
  });

  it("exceeds the memory budget by at most one slab while it frees slabs full of newest samples of quiet accounts", () => {
    const windows = new SampleWindows({ ...LIMITS, maxSamples: 10_000, budgetBytes: 16 * LIMITS.slabBytes });
    const quiet = Array.from({ length: 66 }, (_, account) => {
      const window = windows.open();
      windows.append(window, sample(1, 0, `account ${account}`), 0);
      return window;
    });
    const busy = windows.open();
    let most = 0;
    for (let sequence = 1; sequence <= 20_000; sequence += 1) {
      windows.append(busy, sample(sequence, 0), 0);
      most = Math.max(most, windows.bytes);
    }
    expect(most / LIMITS.slabBytes).toBeLessThanOrEqual(16 + 1);
    for (const [account, window] of quiet.entries()) expect(texts(windows, window)).toEqual([`account ${account}`]);
    expect(busy.last - busy.first).toBeGreaterThan(100);
  });

  it("exceeds the memory budget rather than drop an account's newest sample", () => {
    const windows = new SampleWindows(LIMITS);
    const all = Array.from({ length: 200 }, (_, account) => {
      const window = windows.open();
      windows.append(window, sample(1, 0, `account ${account}`), 0);
      return window;
    });
    for (const [account, window] of all.entries()) expect(texts(windows, window)).toEqual([`account ${account}`]);
  });

  it("frees the memory of old samples and of closed windows", () => {
    const windows = new SampleWindows({ ...LIMITS, maxSamples: 300, budgetBytes: 1_024 * 1_024 });
    const window = windows.open();
    for (let sequence = 1; sequence <= 200; sequence += 1) windows.append(window, sample(sequence, 0), 0);
    const full = windows.bytes;
    windows.expire(1_001);
    expect(windows.bytes).toBeLessThan(full / 5);
    windows.close(window);
    for (let turn = 0; turn < 3; turn += 1) windows.expire(2_002 * (turn + 1));
    expect(windows.bytes).toBe(LIMITS.slabBytes);
  });

  it("keeps the samples that a plain list of each account would keep, or fewer if the memory budget is exceeded, for any order of appends, closes and times", () => {
    const action = fc.oneof(
      {
        weight: 20,
        arbitrary: fc.record({ kind: fc.constant("append" as const), account: fc.nat(3), size: fc.nat(120) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("close" as const), account: fc.nat(3) }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.nat(700) }) },
    );
    fc.assert(
      fc.property(fc.array(action, { maxLength: 300 }), fc.boolean(), (actions, tight) => {
        const limits = { ...LIMITS, maxSamples: 17, budgetBytes: tight ? 2_048 : 1_000_000 };
        const windows = new SampleWindows(limits);
        const accounts = Array.from({ length: 4 }, () => ({ window: windows.open(), list: [] as LoggedSample[] }));
        let nowMs = 0;
        for (const step of actions) {
          if (step.kind === "pass") {
            nowMs += step.ms;
            windows.expire(nowMs);
            continue;
          }
          const account = accounts[step.account];
          if (account === undefined) continue;
          if (step.kind === "close") {
            windows.close(account.window);
            account.window = windows.open();
            account.list = [];
            continue;
          }
          const next = sample((account.list.at(-1)?.sequence ?? 0) + 1, nowMs, "z".repeat(step.size + 1));
          account.list.push(next);
          windows.append(account.window, next, nowMs);
        }
        for (const { window, list } of accounts) {
          windows.trim(window, nowMs);
          const wanted = list
            .filter((one, at) => at === list.length - 1 || one.atMs >= nowMs - limits.maxAgeMs)
            .slice(-17);
          const kept = list.filter((one) => one.sequence >= window.first);
          expect(window.last).toBe(list.length);
          for (const one of kept) expect(windows.sample(window, one.sequence)).toEqual(one);
          if (list.length > 0) expect(kept.length).toBeGreaterThan(0);
          if (tight) expect(kept.length).toBeLessThanOrEqual(wanted.length);
          else expect(kept).toEqual(wanted);
        }
      }),
      { numRuns: 300 },
    );
  });
});
