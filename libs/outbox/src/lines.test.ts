import { TOPICS } from "@kapi/contracts";
import { describe, expect, it } from "vitest";

import { fromLines, toLines } from "./lines.ts";

describe("the lines of the outbox", () => {
  it("return the messages unchanged, in order", () => {
    const messages = [
      { topic: TOPICS.financeEvents, key: "server/1", value: JSON.stringify({ text: 'line\nend, "quotes" and \\' }) },
      { topic: TOPICS.commandEvents, key: "b", value: "{}" },
      { topic: TOPICS.commandEvents, key: "c", value: "{}", traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` },
      { topic: TOPICS.commandEvents, key: "a", value: "[]" },
    ];
    expect(fromLines(toLines(messages))).toEqual(messages);
  });

  it("reject a line break in a key or value: it would start another message", () => {
    expect(() => toLines([{ topic: TOPICS.commandEvents, key: "a\nb", value: "{}" }])).toThrow("on one line each");
    expect(() => toLines([{ topic: TOPICS.commandEvents, key: "a", value: "{\n}" }])).toThrow("on one line each");
  });
});
