import { expect, it } from "vitest";

import { chooseZone } from "../time-zone.ts";
import { endOf } from "./keys-create.tsx";

it("a key with a custom expiration date expires at this time of the chosen zone", () => {
  chooseZone("Asia/Kolkata");
  expect(endOf("date", "2026-11-21T10:15")).toBe("2026-11-21T04:45:00.000Z");
  expect(() => endOf("date", "2026-11-21T")).toThrow("Enter the date and the time.");
});
