import fc from "fast-check";
import { expect, it } from "vitest";

import { parseStorableJson } from "./storable-json.ts";

it.each([
  [String.raw`"Not enough money\u0000\u0000"`, "Not enough money"],
  [String.raw`"Bonus \ud83c"`, "Bonus \ufffd"],
  [String.raw`"\udf81 Bonus \uD83C\uDF81"`, "\ufffd Bonus \u{1f381}"],
  [String.raw`"\\u0000 and \\ud83c are text"`, String.raw`\u0000 and \ud83c are text`],
])("the JSON %s of a trading server becomes a text that PostgreSQL stores", (json, text) => {
  expect(parseStorableJson(`{"events":[${json}]}`)).toEqual({ events: [text] });
});

it("other JSON is parsed unchanged", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "grapheme" }), (value) => {
      const json = JSON.stringify(value);
      fc.pre(!json.includes(String.raw`\u0000`));
      expect(parseStorableJson(json)).toEqual(JSON.parse(json));
    }),
  );
});
