import { expect, test } from "vitest";

import { murmur2, partitionOfKey } from "./partitioner.ts";

// Test vectors of Kafka: org.apache.kafka.common.utils.UtilsTest.
test.each([
  ["21", -973932308],
  ["foobar", -790332482],
  ["a-little-bit-long-string", -985981536],
  ["a-little-bit-longer-string", -1486304829],
  ["lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971],
  ["abc", 479470107],
])("the hash of %s is the same as in a Java client", (key, hash) => {
  expect(murmur2(Buffer.from(key))).toBe(hash);
});

test("a key with a negative hash still has a partition", () => {
  expect(partitionOfKey("21", 4)).toBe((-973932308 & 0x7fffffff) % 4);
  for (let index = 0; index < 1_000; index += 1) {
    const partition = partitionOfKey(`key ${index}`, 12);
    expect(partition >= 0 && partition < 12).toBe(true);
  }
});
