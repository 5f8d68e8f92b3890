import { expect, it } from "vitest";

import { kafka } from "./kafka.ts";

it.each(["localhost", "localhost:x", "localhost:99999", ""])(
  "no Kafka answers at the malformed address %j",
  async (address) => {
    expect(await kafka.answers(address)).toBe(false);
  },
);
