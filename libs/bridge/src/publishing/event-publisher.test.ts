import type { Producer } from "@kapi/kafka";
import { createLogger } from "@kapi/runtime";
import { expect, it } from "vitest";

import type { PublishableEvent } from "../journal/ports.ts";
import { EventPublisher } from "./event-publisher.ts";

const logger = createLogger({ service: "test", level: "silent" });
const eventAt = (position: number): PublishableEvent => ({ position, key: "a", value: String(position) });

it("the publisher publishes every event, also an event that is pushed at the moment when an earlier event has been published", async () => {
  for (let turns = 0; turns < 20; turns += 1) {
    const sent: string[] = [];
    const send: Producer["send"] = (_topic, { value }) => {
      sent.push(String(value));
      return Promise.resolve({ partition: 0, offset: 0n });
    };
    const journal = { eventsAfter: () => Promise.resolve([]) };
    const producer: Producer = { send, partitionOf: () => 0 };
    const { value: publisher, stop } = EventPublisher.start({ producer, journal, published: 0, committed: 0, logger });
    publisher.push([eventAt(1)]);
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    publisher.push([eventAt(2)]);
    await stop();
    expect(sent, `${turns} microtasks after the first push`).toEqual(["1", "2"]);
  }
});
