import { hash, randomUUID } from "node:crypto";

import kafkajs, { type PartitionAssigner } from "kafkajs";

import type { ConsumerOptions } from "./consumer-options.ts";

/** Taken from the default export: Node finds no such named export in kafkajs. */
const { AssignerProtocol, PartitionAssigners } = kafkajs;

/** Every member of this process has this name, in every group. */
const PROCESS_NAME = randomUUID();
const NAME = "KapiProcessAssigner";
const VERSION = 0;

/**
 * The assigners of a group, by preference. The group uses the first assigner that all its members
 * know. This is round robin while a member has a release without assignment by process.
 */
export function assignersOf({
  isAssignedByProcess,
}: Pick<ConsumerOptions, "isAssignedByProcess">): PartitionAssigner[] {
  return [...(isAssignedByProcess === true ? [assignByProcess] : []), PartitionAssigners.roundRobin];
}

/** A member of a group, and the name of its process. */
export interface NamedMember {
  readonly memberId: string;
  readonly processName: string;
}

/**
 * Assigns partitions by the names of the processes. A process has the same partition numbers in
 * each group of the same processes, and few partitions move when a process joins or leaves.
 */
const assignByProcess: PartitionAssigner = ({ cluster }) => ({
  name: NAME,
  version: VERSION,
  assign: ({ members, topics }) => {
    const named = members.map(({ memberId, memberMetadata }) => ({
      memberId,
      processName: AssignerProtocol.MemberMetadata.decode(memberMetadata)?.userData.toString() ?? memberId,
    }));
    const byMember = new Map<string, Record<string, number[]>>(named.map(({ memberId }) => [memberId, {}]));
    for (const topic of topics) {
      const partitions = cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId);
      for (const [memberId, assigned] of dividePartitions(partitions, named)) {
        const assignment = byMember.get(memberId);
        if (assignment !== undefined) assignment[topic] = assigned;
      }
    }
    return Promise.resolve(
      Array.from(byMember, ([memberId, assignment]) => ({
        memberId,
        memberAssignment: AssignerProtocol.MemberAssignment.encode({
          version: VERSION,
          assignment,
          userData: Buffer.alloc(0),
        }),
      })),
    );
  },
  protocol: ({ topics }) => ({
    name: NAME,
    metadata: AssignerProtocol.MemberMetadata.encode({ version: VERSION, topics, userData: Buffer.from(PROCESS_NAME) }),
  }),
});

/**
 * Divides partitions equally. Each partition goes to the member with the highest hash of process
 * and partition, among the members that have room. The partition counts of two members differ by at
 * most one. Returns the partitions of each member id.
 */
export function dividePartitions(
  partitions: readonly number[],
  members: readonly NamedMember[],
): Map<string, number[]> {
  const assigned = new Map(
    members
      .toSorted((left, right) => compare(left.processName, right.processName) || compare(left.memberId, right.memberId))
      .map((member) => [member, [] as number[]]),
  );
  const each = Math.floor(partitions.length / members.length);
  /** How many members may still get one partition more. */
  let more = partitions.length % members.length;
  for (const partition of partitions.toSorted((left, right) => left - right)) {
    const ranked = Array.from(assigned, ([member, own]) => ({ own, rank: rankOf(member.processName, partition) }));
    ranked.sort((left, right) => right.rank - left.rank);
    const chosen = ranked.find(({ own }) => own.length < each || (own.length === each && more > 0));
    if (chosen === undefined) continue;
    if (chosen.own.length === each) more -= 1;
    chosen.own.push(partition);
  }
  return new Map(Array.from(assigned, ([{ memberId }, own]) => [memberId, own]));
}

function rankOf(processName: string, partition: number): number {
  return hash("sha1", `${processName}/${partition}`, "buffer").readUInt32BE();
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
