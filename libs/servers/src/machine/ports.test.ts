import { expect, it, vi } from "vitest";

import { freePort } from "./ports.ts";

it("never chooses a port twice, even if nothing listens on the port yet", async () => {
  const chance = vi.spyOn(Math, "random");
  for (const number of [0.123, 0.123, 0.789]) chance.mockReturnValueOnce(number);
  const ports = [await freePort(), await freePort()];
  expect(new Set(ports).size).toBe(2);
  expect(chance).toHaveBeenCalledTimes(3);
  chance.mockRestore();
});
