import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { openCursor, resumeCursor } from "./cursor.ts";

const NOTHING = { first: 1, last: 0 };
const KEPT = { first: 11, last: 20 };

describe("the cursor of a subscription", () => {
  it("starts at the newest sample, without a notice, when afterSequence is omitted", () => {
    expect(openCursor(KEPT, undefined)).toEqual({ next: 20, replay: null });
    expect(openCursor(NOTHING, undefined)).toEqual({ next: 1, replay: null });
  });

  it("replays every kept sample above afterSequence, after a notice", () => {
    expect(openCursor(KEPT, 15)).toEqual({
      next: 16,
      replay: { firstAvailableSequence: 11, lastAvailableSequence: 20, replayTruncated: false, replayCount: 5 },
    });
    expect(openCursor(KEPT, 10).replay).toMatchObject({ replayTruncated: false, replayCount: 10 });
  });

  it("sends the notice also when no sample is to be replayed", () => {
    expect(openCursor(KEPT, 20)).toMatchObject({ next: 21, replay: { replayTruncated: false, replayCount: 0 } });
    expect(openCursor(NOTHING, 0)).toEqual({
      next: 1,
      replay: { firstAvailableSequence: 1, lastAvailableSequence: 0, replayTruncated: false, replayCount: 0 },
    });
  });

  it("truncates the replay when samples are no longer kept, or when afterSequence is above the last sample", () => {
    expect(openCursor(KEPT, 9)).toMatchObject({ next: 11, replay: { replayTruncated: true, replayCount: 10 } });
    expect(openCursor(KEPT, 0)).toMatchObject({ next: 11, replay: { replayTruncated: true } });
    expect(openCursor(KEPT, 21)).toMatchObject({ next: 21, replay: { replayTruncated: true, replayCount: 0 } });
    expect(openCursor(NOTHING, 1)).toMatchObject({ next: 1, replay: { replayTruncated: true } });
  });

  it("sends a notice after a stall only if the next sample is no longer kept", () => {
    expect(resumeCursor(KEPT, 11)).toEqual({ next: 11, replay: null });
    expect(resumeCursor(KEPT, 21)).toEqual({ next: 21, replay: null });
    expect(resumeCursor(KEPT, 10)).toMatchObject({ next: 11, replay: { replayTruncated: true, replayCount: 10 } });
  });

  it("announces every gap and repeats no sample, for any window and afterSequence", () => {
    fc.assert(
      fc.property(fc.nat(50), fc.nat(50), fc.nat(120), (dropped, kept, afterSequence) => {
        const window = { first: dropped + 1, last: dropped + kept };
        const { next, replay } = openCursor(window, afterSequence);
        expect(replay?.replayCount).toBe(Math.max(0, window.last - next + 1));
        expect(next).toBeGreaterThanOrEqual(window.first);
        if (replay?.replayTruncated === false) expect(next).toBe(afterSequence + 1);
        else expect(afterSequence + 1 < window.first || afterSequence > window.last).toBe(true);
      }),
    );
  });
});
