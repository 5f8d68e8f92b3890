import type { ChangeBody, Rejection } from "@kapi/bridge";

import type { Fault, FaultOperation, Faults, FaultTarget } from "./faults.ts";

/** How the faults of a server shape the handling of one request. */
export interface FaultPlan {
  /** Nothing is done; 503, or no answer at all. */
  readonly unreachable: { readonly disconnect: boolean } | null;
  /** Waited before anything is done. */
  readonly delayMs: number;
  /** Everything is done, but the connection is cut instead of the answer. */
  readonly dropAnswer: boolean;
}

/** The plan of a batch of changes, with what happens to each change. */
export interface ChangesPlan extends FaultPlan {
  readonly changes: readonly {
    readonly body: ChangeBody;
    /** Applied so many milliseconds later, unless its reference is settled first; null: now. */
    readonly lateMs: number | null;
    readonly rejection: Rejection | null;
  }[];
}

/** Takes the faults that meet a request without changes. Of several targets each may be met. */
export function planRequest(faults: Faults, targets: readonly FaultTarget[]): FaultPlan {
  const unreachable = firstOf(targets, (target) => faults.take(["unreachable"], target));
  if (unreachable !== null) return { unreachable, delayMs: 0, dropAnswer: false };
  const delayed = firstOf(targets, (target) => faults.take(["delay"], target));
  const dropped = firstOf(targets, (target) => faults.take(["drop_answer"], target));
  return { unreachable: null, delayMs: delayed?.delayMs ?? 0, dropAnswer: dropped !== null };
}

/** Takes the faults that meet a batch of changes. */
export function planChanges(faults: Faults, bodies: readonly ChangeBody[]): ChangesPlan {
  const targets = bodies.map(targetOf);
  const plan = planRequest(faults, targets);
  if (plan.unreachable !== null) return { ...plan, changes: [] };
  const changes = bodies.map((body, index) => {
    const target = targets[index] ?? targetOf(body);
    const refusing = faults.take(["refuse"], target);
    const late = refusing === null ? faults.take(["apply_late"], target) : null;
    const rejection = refusing === null ? null : rejectionOf(refusing);
    return { body, lateMs: late?.delayMs ?? null, rejection };
  });
  return { ...plan, dropAnswer: plan.dropAnswer || changes.some((change) => change.lateMs !== null), changes };
}

function rejectionOf({ code }: Fault): Rejection {
  return { applied: false, code, message: "refused by an injected fault" };
}

function targetOf(body: ChangeBody): FaultTarget {
  const { reference, accountNumber, type, kind } = body;
  const operation = type === "balance" ? kind : type;
  return {
    reference,
    accountNumber: typeof accountNumber === "string" ? accountNumber : null,
    operation: operation as FaultOperation,
  };
}

function firstOf(targets: readonly FaultTarget[], take: (target: FaultTarget) => Fault | null): Fault | null {
  for (const target of targets) {
    const fault = take(target);
    if (fault !== null) return fault;
  }
  return null;
}
