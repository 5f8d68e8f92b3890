import { describe, expect, it } from "vitest";

import { column, jsonLines } from "./columns.ts";

describe("a column of many values", () => {
  it("leaves plain values unquoted, and distinguishes null from the text null", () => {
    expect(column(["a", 1, null, -2.5])).toBe("{a,1,NULL,-2.5}");
    expect(column(["NULL", "null", ""])).toBe('{"NULL","null",""}');
    expect(column([])).toBe("{}");
  });

  it("quotes values that have a special meaning", () => {
    expect(column(['say "hi"', "a,b", "{}", "back\\slash", "two words"])).toBe(
      '{"say \\"hi\\"","a,b","{}","back\\\\slash","two words"}',
    );
  });

  it("that are JSON puts each value on its own line, and rejects a value of several lines", () => {
    expect(jsonLines(['{"a":1}', null, '{"b":"\\n"}'])).toBe('{"a":1}\n\n{"b":"\\n"}');
    expect(() => jsonLines(['{\n"a":1}'])).toThrow(/several lines/);
  });
});
