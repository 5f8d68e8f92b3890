import kafkajs from "kafkajs";
import { expect, test } from "vitest";

import { mayPass } from "./errors.ts";

test("a coordinator of the group that no broker could name is looked for again, not the end of the consumer", () => {
  // By hand: its type leaves the argument out.
  const notFound: unknown = Reflect.construct(kafkajs.KafkaJSGroupCoordinatorNotFound, ["no broker answered"]);
  expect(mayPass(notFound)).toBe(true);
  expect(mayPass(new kafkajs.KafkaJSNonRetriableError("not allowed"))).toBe(false);
});
