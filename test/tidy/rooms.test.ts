import path from "node:path";
import { describe, expect, it } from "vitest";

import { roomFaults } from "./rooms.ts";

describe("the rooms of the house", () => {
  it("every service has the same rooms", () => {
    expect(roomFaults(path.resolve(import.meta.dirname, "../../services"))).toEqual([]);
  });

  it("a service with a room of its own making is named", () => {
    expect(roomFaults(path.join(import.meta.dirname, "fixtures/rooms"))).toEqual([
      "crooked: README.md is missing",
      "crooked: src/config.ts is missing",
      "crooked: src/service.ts is missing",
      "crooked: src/helpers is no room of this house",
      "crooked: src/inbound/tcp is no room of this house",
    ]);
  });
});
