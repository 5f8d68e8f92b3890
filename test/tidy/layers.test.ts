import path from "node:path";
import { describe, expect, it } from "vitest";

import { layerFaults } from "./layers.ts";

describe("the layers of a service", () => {
  it("every service has its README and required files, and only allowed folders", () => {
    expect(layerFaults(path.resolve(import.meta.dirname, "../../services"))).toEqual([]);
  });

  it("a missing file and a folder that is not allowed are reported", () => {
    expect(layerFaults(path.join(import.meta.dirname, "fixtures/layers"))).toEqual([
      "crooked: README.md is missing",
      "crooked: src/config.ts is missing",
      "crooked: src/service.ts is missing",
      "crooked: src/helpers is not an allowed folder",
      "crooked: src/inbound/tcp is not an allowed folder",
    ]);
  });
});
