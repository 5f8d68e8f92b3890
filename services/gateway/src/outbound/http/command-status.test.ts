import { DependencyError } from "@kapi/http";
import { describe, expect, it } from "vitest";

import { linesOf } from "./command-status.ts";

const textOf = (lines: (Buffer | string | null)[]): (string | null)[] => lines.map((line) => line?.toString() ?? null);

describe("the lines of a batched read", () => {
  it("are the bytes of each response, in order, and null for an empty line", () => {
    expect(textOf(linesOf(Buffer.from('{"a":"é"}\n\n{"b":1}\n'), 3))).toEqual(['{"a":"é"}', null, '{"b":1}']);
    expect(linesOf(Buffer.alloc(0), 0)).toEqual([]);
  });

  it("mark commands that did not fit, and must be requested again", () => {
    expect(textOf(linesOf(Buffer.from('"later"\n{"b":1}\n'), 2))).toEqual(["later", '{"b":1}']);
  });

  it("that are missing throw: a truncated response must not become a 404", () => {
    expect(() => linesOf(Buffer.from("\n{"), 2)).toThrow(DependencyError);
  });
});
