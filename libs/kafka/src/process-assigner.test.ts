import { expect, test } from "vitest";

import { dividePartitions } from "./process-assigner.ts";

const PARTITIONS = Array.from({ length: 48 }, (_, partition) => partition);
const processes = (count: number, group: string) =>
  Array.from({ length: count }, (_, index) => ({ memberId: `${group}-${index * 7919}`, processName: `p${index}` }));

test("the partition counts of two processes differ by at most one, and each process has the same partitions in all its groups", () => {
  for (let count = 1; count <= 50; count += 1) {
    const samples = dividePartitions(PARTITIONS, processes(count, "samples"));
    const valuations = dividePartitions(PARTITIONS, processes(count, "valuations").toReversed());
    expect([...samples.values()].flat().toSorted((left, right) => left - right)).toEqual(PARTITIONS);
    for (const own of samples.values()) {
      expect(own.length - Math.floor(PARTITIONS.length / count)).toBeOneOf([0, 1]);
    }
    for (const [index, { memberId }] of processes(count, "samples").entries()) {
      expect(valuations.get(processes(count, "valuations")[index]?.memberId ?? "")).toEqual(samples.get(memberId));
    }
  }
});

test("most partitions stay where they are when a process joins", () => {
  for (let count = 2; count <= 12; count += 1) {
    const before = dividePartitions(PARTITIONS, processes(count, "group"));
    const after = dividePartitions(PARTITIONS, processes(count + 1, "group"));
    const stayed = Array.from(before).flatMap(([member, own]) => own.filter((one) => after.get(member)?.includes(one)));
    expect(stayed.length).toBeGreaterThan(PARTITIONS.length / 2);
  }
});
