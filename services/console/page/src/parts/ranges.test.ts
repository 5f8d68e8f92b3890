import { describe, expect, it } from "vitest";

import { type RangeName, spanFields, spanOf } from "./ranges.ts";

const NOW = Date.parse("2026-04-01T09:30:00.000Z");
const PRAGUE = "Europe/Prague";

function fieldsOf(name: RangeName, query = "") {
  const fields = new URLSearchParams(query);
  const custom = { from: fields.get("from") ?? "", to: fields.get("to") ?? "" };
  return spanFields(spanOf(name, custom, PRAGUE, NOW));
}

describe("a range of time, in Prague after the clocks changed on 29 March", () => {
  it.each([
    ["all", "", ""],
    ["hour", "2026-04-01T08:30:00.000Z", ""],
    ["today", "2026-03-31T22:00:00.000Z", ""],
    ["utcDay", "2026-04-01T00:00:00.000Z", ""],
    ["yesterday", "2026-03-30T22:00:00.000Z", "2026-03-31T21:59:59.999Z"],
    ["week", "2026-03-25T10:30:00.000Z", ""],
    ["month", "2026-03-31T22:00:00.000Z", ""],
    ["lastMonth", "2026-02-28T23:00:00.000Z", "2026-03-31T21:59:59.999Z"],
  ] as const)("that is named `%s` has the expected start and end", (name, from, to) => {
    const toExclusive = to === "" ? "" : new Date(Date.parse(to) + 1).toISOString();
    expect(fieldsOf(name)).toEqual({ from, to, toExclusive });
  });

  it("that is named `custom` takes its start and end from the page's address; a malformed time sets no limit", () => {
    const query = "from=2026-03-01T00:00:00.000Z&to=2026-03-02T00:00:00.000Z";
    expect(fieldsOf("custom", query)).toEqual({
      from: "2026-03-01T00:00:00.000Z",
      to: "2026-03-01T23:59:59.999Z",
      toExclusive: "2026-03-02T00:00:00.000Z",
    });
    expect(fieldsOf("custom", "from=nonsense")).toEqual({ from: "", to: "", toExclusive: "" });
  });
});
