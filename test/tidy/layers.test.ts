import path from "node:path";
import { describe, expect, it } from "vitest";

import { layerFaults } from "./layers.ts";

describe("the layers of a service", () => {
  it("every service has the same layers", () => {
    expect(layerFaults(path.resolve(import.meta.dirname, "../../services"))).toEqual([]);
  });

  it("a service with a layer of its own making is named", () => {
    expect(layerFaults(path.join(import.meta.dirname, "fixtures/layers"))).toEqual([
      "crooked: README.md is missing",
      "crooked: src/config.ts is missing",
      "crooked: src/service.ts is missing",
      "crooked: src/helpers is no layer",
      "crooked: src/inbound/tcp is no layer",
    ]);
  });
});
