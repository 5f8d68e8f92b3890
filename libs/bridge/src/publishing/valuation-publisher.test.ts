import type { OutgoingMessage, Producer } from "@kapi/kafka";
import { createLogger } from "@kapi/runtime";
import { eventually } from "@kapi/testkit";
import { expect, it } from "vitest";

import { ValuationPublisher } from "./valuation-publisher.ts";

const logger = createLogger({ service: "test", level: "silent" });

it("the publisher resends only unacknowledged valuations, before newer valuations", async () => {
  const sent: string[] = [];
  const rejectedOnce = new Set(["b1", "b2"]);
  const send = (_topic: unknown, { value }: OutgoingMessage): ReturnType<Producer["send"]> => {
    sent.push(String(value));
    if (rejectedOnce.delete(String(value))) return Promise.reject(new Error("the leader is unavailable"));
    return Promise.resolve({ partition: 0, offset: 0n });
  };
  const producer: Producer = { send, partitionOf: () => 0 };
  const publisher = ValuationPublisher.start({ producer, logger });
  publisher.value.push(["a1", "b1", "a2", "b2"].map((value) => ({ key: value.slice(0, 1), value })));
  publisher.value.push([{ key: "b", value: "b3" }]);
  await eventually(() => sent.includes("b3") && rejectedOnce.size === 0);
  await publisher.stop();
  expect(sent).toEqual(["a1", "b1", "a2", "b2", "b1", "b2", "b3"]);
});

it("the publisher sends every valuation, even one that is pushed at the moment when the previous sending ends", async () => {
  for (let turns = 0; turns < 20; turns += 1) {
    const sent: string[] = [];
    const send = (_topic: unknown, { value }: OutgoingMessage): ReturnType<Producer["send"]> => {
      sent.push(String(value));
      return Promise.resolve({ partition: 0, offset: 0n });
    };
    const producer: Producer = { send, partitionOf: () => 0 };
    const publisher = ValuationPublisher.start({ producer, logger });
    publisher.value.push([{ key: "a", value: "a1" }]);
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    publisher.value.push([{ key: "a", value: "a2" }]);
    await publisher.stop();
    expect(sent, `${turns} microtasks after the first push`).toEqual(["a1", "a2"]);
  }
});
