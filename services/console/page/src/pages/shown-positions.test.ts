import { describe, expect, it } from "vitest";

import type { EvidencePosition } from "../api/shapes.ts";
import { MAX_SHOWN_POSITIONS, shownPositions } from "./shown-positions.ts";

function position(positionId: string, profit: string | null): EvidencePosition {
  return { positionId, symbol: "EURUSD", side: "buy", volume: "0.1", openPrice: "1.08451", price: "1.08", profit };
}

const PROFITS = ["-2.00", "30.00", "-100.00", "4.00", "-5.50", "0.00", "7.00", "-1.00"];
const VALUED = PROFITS.map((profit, index) => position(`P-${index}`, profit));

describe("of many positions", () => {
  it("those with the largest losses are shown; for a profit target, those with the largest profits", () => {
    const losses = shownPositions(VALUED, "atOrBelow");
    expect(losses.shown.map(({ profit }) => profit)).toEqual(["-100.00", "-5.50", "-2.00", "-1.00", "0.00", "4.00"]);
    const profits = shownPositions(VALUED, "atOrAbove");
    expect(profits.shown.map(({ profit }) => profit)).toEqual(["30.00", "7.00", "4.00", "0.00", "-1.00", "-2.00"]);
    expect([losses.isValued, profits.isValued]).toEqual([true, true]);
  });

  it("the first ones of the document are shown if the profit of any position is unknown", () => {
    const { shown, isValued } = shownPositions([...VALUED, position("P-8", null)], "atOrBelow");
    expect(shown).toEqual(VALUED.slice(0, MAX_SHOWN_POSITIONS));
    expect(isValued).toBe(false);
  });
});
