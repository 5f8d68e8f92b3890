import { TOPICS } from "@kapi/contracts";
import { describe, expect, it } from "vitest";

import { fromLines, toLines } from "./lines.ts";

describe("the lines of the outbox", () => {
  it("give the messages back as they were, in their order", () => {
    const messages = [
      { topic: TOPICS.financeEvents, key: "server/1", value: JSON.stringify({ text: 'line\nend, "quotes" and \\' }) },
      { topic: TOPICS.commandEvents, key: "b", value: "{}" },
      { topic: TOPICS.commandEvents, key: "c", value: "{}", traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` },
      { topic: TOPICS.commandEvents, key: "a", value: "[]" },
    ];
    expect(fromLines(toLines(messages))).toEqual(messages);
  });

  it("are refused where a part is not on one line: it would be read as another message's", () => {
    expect(() => toLines([{ topic: TOPICS.commandEvents, key: "a\nb", value: "{}" }])).toThrow("one line");
    expect(() => toLines([{ topic: TOPICS.commandEvents, key: "a", value: "{\n}" }])).toThrow("one line");
  });
});
