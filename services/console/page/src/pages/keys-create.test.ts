import { expect, it } from "vitest";

import { chooseZone } from "../time-zone.ts";
import { endOf } from "./keys-create.tsx";

it("a custom expiration date is read in the chosen time zone; an incomplete one is an error", () => {
  chooseZone("Asia/Kolkata");
  expect(endOf("date", "2026-11-21T10:15")).toBe("2026-11-21T04:45:00.000Z");
  expect(() => endOf("date", "2026-11-21T")).toThrow("Enter the date and the time.");
});
