import { expect, it } from "vitest";

import { parseStrictJson } from "./json.ts";
import { verifyEvidence } from "./verify.ts";

it("a JSON string of any length is read, even if it consists only of escapes", () => {
  for (const text of [JSON.stringify("a".repeat(20_000_000)), JSON.stringify('"\\'.repeat(5_000_000))]) {
    expect(parseStrictJson(text)).toEqual({ value: JSON.parse(text) as string });
    const document = `{"format":"kapi-evidence/1","note":${text}}`;
    const problem = { code: "malformed", message: "createdAt is not a time" };
    expect(verifyEvidence(document, { keys: [] })).toEqual({ status: "invalid", problem });
  }
});

it.each([
  ['{"a":1,"\\u0061":2}', 'the member "a" is repeated'],
  ['{"a\\"":{"b\\\\":1},"a\\"":2}', 'the member "a\\"" is repeated'],
  ['{"a":"1.5",":":1.5}', "1.5 is not an integer"],
  ["[".repeat(101) + "]".repeat(101), "it is nested more than 100 deep"],
])("%s is rejected, and the fault is named", (text, fault) => {
  expect(parseStrictJson(text)).toEqual({ fault });
});

it.each(['{"a":"{\\"b\\":1.5}","b":[-1,true,null,"]"]}', ' { "a" : "\\\\" , "b" : "\\\\\\"" } '])(
  "%s is accepted",
  (text) => {
    expect(parseStrictJson(text)).toEqual({ value: JSON.parse(text) as object });
  },
);
