import { IntervalEvidenceQuery, ListRiskBreachesQuery } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Call, OperationTable } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { RequestValidator, removedServer } from "./validate.ts";

/** Reads of risk rules, breaches and evidence: the risk service's response, unchanged. */
export function riskOperations({
  risk,
  knownAccounts,
}: Pick<Dependencies, "risk" | "knownAccounts">): OperationTable<
  "getRiskRules" | "listRiskBreaches" | "getBreachEvidence" | "getIntervalEvidence"
> {
  /** The risk service knows only accounts with rules, so existence is checked here. */
  const chargeExisting = async (call: Call, serverId: string, accountNumber: string): Promise<void> => {
    await call.charge.read();
    if ((await knownAccounts.find(serverId, accountNumber)) === null) throw new ApiError("ACCOUNT_NOT_FOUND");
  };
  return {
    getRiskRules: async (call) => {
      const validator = new RequestValidator();
      const serverId = validator.serverId(call);
      const accountNumber = validator.accountNumber(call);
      const error = validator.error() ?? removedServer(call);
      if (error !== null) return call.charge.reject(error);
      await chargeExisting(call, serverId, accountNumber);
      return { status: 200, body: await risk.rules(serverId, accountNumber) };
    },
    listRiskBreaches: async (call) => {
      const validator = new RequestValidator();
      const serverId = validator.serverId(call);
      const accountNumber = validator.accountNumber(call);
      const query = validator.query(call, ListRiskBreachesQuery);
      const error = validator.error() ?? removedServer(call);
      if (error !== null || query === null) return call.charge.reject(error ?? new ApiError("VALIDATION_FAILED"));
      await chargeExisting(call, serverId, accountNumber);
      return { status: 200, body: await risk.breaches(serverId, accountNumber, query) };
    },
    getBreachEvidence: async (call) => {
      const validator = new RequestValidator();
      const serverId = validator.serverId(call);
      const accountNumber = validator.accountNumber(call);
      const breachId = validator.breachId(call);
      const error = validator.error() ?? removedServer(call);
      if (error !== null) return call.charge.reject(error);
      // Evidence stays when its account is deleted.
      await call.charge.read();
      return { status: 200, body: await risk.breachEvidence(serverId, accountNumber, breachId) };
    },
    getIntervalEvidence: async (call) => {
      const validator = new RequestValidator();
      const serverId = validator.serverId(call);
      const accountNumber = validator.accountNumber(call);
      const query = validator.query(call, IntervalEvidenceQuery);
      const error = validator.error() ?? removedServer(call);
      if (error !== null || query === null) return call.charge.reject(error ?? new ApiError("VALIDATION_FAILED"));
      await chargeExisting(call, serverId, accountNumber);
      return { status: 200, body: await risk.intervalEvidence(serverId, accountNumber, query) };
    },
  };
}
