import type { ChangeBody, Rejection } from "@kapi/bridge";

import type { Fault, FaultOperation, Faults, FaultTarget } from "./faults.ts";

/** Effect of the injected faults on one request. */
export interface FaultPlan {
  /** If set, nothing is done: the answer is 503, or the connection is closed. */
  readonly unreachable: { readonly disconnect: boolean } | null;
  /** Wait before the work, in milliseconds. */
  readonly delayMs: number;
  /** If true, the work is done, and the connection is closed instead of an answer. */
  readonly dropAnswer: boolean;
}

/** Effect of the injected faults on a batch of changes, and on each change. */
export interface ChangesPlan extends FaultPlan {
  readonly changes: readonly {
    readonly body: ChangeBody;
    /**
     * Milliseconds after which the change applies; null: at once. It applies earlier if the
     * caller sends it again, and never if its reference is settled first.
     */
    readonly lateMs: number | null;
    readonly rejection: Rejection | null;
  }[];
}

/**
 * Finds the faults that affect a whole request, and counts their occurrence. A fault affects the
 * request if it matches at least one of `targets`.
 */
export function planRequest(faults: Faults, targets: readonly FaultTarget[]): FaultPlan {
  const unreachable = firstOf(targets, (target) => faults.take(["unreachable"], target));
  if (unreachable !== null) return { unreachable, delayMs: 0, dropAnswer: false };
  const delayed = firstOf(targets, (target) => faults.take(["delay"], target));
  const dropped = firstOf(targets, (target) => faults.take(["drop_answer"], target));
  return { unreachable: null, delayMs: delayed?.delayMs ?? 0, dropAnswer: dropped !== null };
}

/**
 * Finds the faults that affect the batch as a whole, then the faults that affect each change.
 * Counts an occurrence each time a fault is found.
 */
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
