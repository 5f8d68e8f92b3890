import path from "node:path";
import { describe, expect, it } from "vitest";

import { layerFaults } from "./layers.ts";

describe("a service", () => {
  it("of this repository has its README and required files, and only allowed folders", () => {
    expect(layerFaults(path.resolve(import.meta.dirname, "../../services"))).toEqual([]);
  });

  it("is reported if it lacks a file or has a folder that is not allowed", () => {
    expect(layerFaults(path.join(import.meta.dirname, "fixtures/layers"))).toEqual([
      "crooked: README.md is missing",
      "crooked: src/config.ts is missing",
      "crooked: src/service.ts is missing",
      "crooked: src/helpers is not an allowed folder",
      "crooked: src/inbound/tcp is not an allowed folder",
    ]);
  });
});
