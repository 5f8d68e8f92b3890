import kafkajs from "kafkajs";
import { expect, test } from "vitest";

import { mayPass } from "./errors.ts";

test("the error that no broker knows the coordinator is temporary; an error that cannot be retried is not", () => {
  // Reflect.construct, because the declared type of the constructor has no argument.
  const notFound: unknown = Reflect.construct(kafkajs.KafkaJSGroupCoordinatorNotFound, ["no broker answered"]);
  expect(mayPass(notFound)).toBe(true);
  expect(mayPass(new kafkajs.KafkaJSNonRetriableError("not allowed"))).toBe(false);
});
