import { type AccountHistory, AnswerLost, type ContractOperations, type SubmittedChange } from "@kapi/bridge";
import type { Quote } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { delay } from "@kapi/kernel";
import type { AccountSnapshot, ServerConfiguration } from "@kapi/trading-server";

import { type FaultPlan, planChanges, planRequest } from "../domain/fault-plan.ts";
import type { FaultOperation } from "../domain/faults.ts";
import type { Engine } from "./engine.ts";
import type { LateChanges } from "./late-changes.ts";

/** The contract of the simulated servers, with the injected faults. */
export class FaultyContract implements ContractOperations {
  readonly #contract: ContractOperations;
  readonly #engine: Engine;
  readonly #late: LateChanges;

  constructor(contract: ContractOperations, engine: Engine, late: LateChanges) {
    this.#contract = contract;
    this.#engine = engine;
    this.#late = late;
  }

  configure(serverId: string, configuration: ServerConfiguration): Promise<void> {
    const work = (): Promise<void> => this.#contract.configure(serverId, configuration);
    const faults = this.#engine.servers.get(serverId.toLowerCase())?.faults;
    if (faults === undefined) return work();
    return under(planRequest(faults, [{ reference: null, accountNumber: null, operation: "configure" }]), work);
  }

  async change(serverId: string, changes: readonly SubmittedChange[]): Promise<readonly string[]> {
    const { faults } = this.#engine.server(serverId);
    const plan = planChanges(
      faults,
      changes.map(({ body }) => body),
    );
    return under(plan, () => {
      const now: SubmittedChange[] = [];
      for (const { body, lateMs, rejection } of plan.changes) {
        const change = rejection === null ? { body } : { body, rejection };
        if (lateMs === null) now.push(change);
        else this.#late.hold(serverId, change, lateMs);
      }
      return this.#contract.change(serverId, now);
    });
  }

  async settle(serverId: string, references: readonly string[]): Promise<readonly string[]> {
    const { faults } = this.#engine.server(serverId);
    const targets = references.map((reference) => ({ reference, accountNumber: null, operation: "settle" as const }));
    return under(planRequest(faults, targets), () => this.#contract.settle(serverId, references));
  }

  async snapshot(serverId: string, accountNumber: string): Promise<AccountSnapshot | null> {
    const plan = this.#planRead(serverId, accountNumber, "snapshot");
    return under(plan, () => this.#contract.snapshot(serverId, accountNumber));
  }

  async lastSequence(serverId: string, accountNumber: string): Promise<number | null> {
    const plan = this.#planRead(serverId, accountNumber, "sequence");
    return under(plan, () => this.#contract.lastSequence(serverId, accountNumber));
  }

  async history(serverId: string, accountNumber: string, since: number, limit: number): Promise<AccountHistory | null> {
    const plan = this.#planRead(serverId, accountNumber, "history");
    return under(plan, () => this.#contract.history(serverId, accountNumber, since, limit));
  }

  async quotes(serverId: string, symbols: readonly string[], atMs: number): Promise<readonly Quote[] | null> {
    const plan = this.#planRead(serverId, null, "quotes");
    return under(plan, () => this.#contract.quotes(serverId, symbols, atMs));
  }

  #planRead(serverId: string, accountNumber: string | null, operation: FaultOperation): FaultPlan {
    return planRequest(this.#engine.server(serverId).faults, [{ reference: null, accountNumber, operation }]);
  }
}

/** Does `work` and answers, with the faults of `plan`. */
async function under<T>(plan: FaultPlan, work: () => Promise<T>): Promise<T> {
  if (plan.unreachable !== null) {
    if (plan.unreachable.disconnect) throw new AnswerLost("cut by an injected fault");
    throw new ApiError("DEPENDENCY_UNAVAILABLE", { status: 503, text: "made unreachable by an injected fault" });
  }
  if (plan.delayMs > 0) await delay(plan.delayMs);
  const answer = await work();
  if (plan.dropAnswer) throw new AnswerLost("dropped by an injected fault");
  return answer;
}
