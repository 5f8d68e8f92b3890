import kafkajs from "kafkajs";
import { expect, test } from "vitest";

import { isRetriable } from "./errors.ts";

test("the error that no broker knows the coordinator is temporary; an error that cannot be retried is not", () => {
  // Reflect.construct, because the declared type of the constructor has no argument.
  const notFound: unknown = Reflect.construct(kafkajs.KafkaJSGroupCoordinatorNotFound, ["no broker answered"]);
  expect(isRetriable(notFound)).toBe(true);
  expect(isRetriable(new kafkajs.KafkaJSNonRetriableError("not allowed"))).toBe(false);
});
