import kafkajs from "kafkajs";
import { expect, test } from "vitest";

import { mayPass } from "./errors.ts";

test("a coordinator that no broker could name is looked for again, and the consumer does not fail", () => {
  // Reflect.construct, because the declared type of the constructor has no argument.
  const notFound: unknown = Reflect.construct(kafkajs.KafkaJSGroupCoordinatorNotFound, ["no broker answered"]);
  expect(mayPass(notFound)).toBe(true);
  expect(mayPass(new kafkajs.KafkaJSNonRetriableError("not allowed"))).toBe(false);
});
