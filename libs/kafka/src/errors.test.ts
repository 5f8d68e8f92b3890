import kafkajs from "kafkajs";
import { expect, test } from "vitest";

import { isRetriable } from "./errors.ts";

test("a `KafkaJSGroupCoordinatorNotFound` is retriable, and a `KafkaJSNonRetriableError` is not", () => {
  // Reflect.construct, because the declared type of the constructor has no argument.
  const notFound: unknown = Reflect.construct(kafkajs.KafkaJSGroupCoordinatorNotFound, ["no broker answered"]);
  expect(isRetriable(notFound)).toBe(true);
  expect(isRetriable(new kafkajs.KafkaJSNonRetriableError("not allowed"))).toBe(false);
});
