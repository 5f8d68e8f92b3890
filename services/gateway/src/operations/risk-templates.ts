import { DeleteRiskTemplateQuery, type RiskTemplateSelection, SetRiskTemplateBody } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { OperationTable } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { queueCommand, type QueueDependencies } from "./queue-command.ts";
import { RequestValidator, removedServer } from "./validate.ts";

type RiskTemplateDependencies = QueueDependencies & Pick<Dependencies, "accounts" | "risk">;

/** Reads and changes of the risk templates of a server. Each change queues one command. */
export function riskTemplateOperations(
  dependencies: RiskTemplateDependencies,
): OperationTable<"listRiskTemplates" | "getRiskTemplate" | "setRiskTemplate" | "deleteRiskTemplate"> {
  const { accounts, risk } = dependencies;
  return {
    listRiskTemplates: async (call) => {
      const validator = new RequestValidator();
      const serverId = validator.serverId(call);
      const error = validator.error() ?? removedServer(call);
      if (error !== null) return call.charge.reject(error);
      await call.charge.read();
      return { status: 200, body: await risk.templates(serverId) };
    },
    getRiskTemplate: async (call) => {
      const validator = new RequestValidator();
      const serverId = validator.serverId(call);
      const templateName = validator.templateName(call);
      const error = validator.error() ?? removedServer(call);
      if (error !== null) return call.charge.reject(error);
      await call.charge.read();
      const body = await risk.template(serverId, templateName);
      if (body === null) throw new ApiError("RISK_TEMPLATE_NOT_FOUND");
      return { status: 200, body };
    },
    setRiskTemplate: async (call) => {
      const validator = new RequestValidator();
      const serverId = validator.serverId(call);
      const name = validator.templateName(call);
      const idempotencyKey = validator.idempotencyKey(call);
      const body = validator.body(call, SetRiskTemplateBody);
      const error = validator.error();
      if (error !== null || body === null) return call.charge.reject(error ?? new ApiError("VALIDATION_FAILED"));
      return queueCommand(dependencies, call, {
        operation: "risk.set_template",
        serverId,
        accountNumber: null,
        idempotencyKey,
        body: { name, ...body },
        reusedStatus: 400,
        state: async () => {
          const rejection =
            removedServer(call) ?? (body.newAccounts ? null : await emptySelection(accounts, serverId, body.appliesTo));
          return { rejection, accountId: null };
        },
      });
    },
    deleteRiskTemplate: async (call) => {
      const validator = new RequestValidator();
      const serverId = validator.serverId(call);
      const name = validator.templateName(call);
      const idempotencyKey = validator.idempotencyKey(call);
      const query = validator.query(call, DeleteRiskTemplateQuery);
      const error = validator.error();
      if (error !== null || query === null) return call.charge.reject(error ?? new ApiError("VALIDATION_FAILED"));
      return queueCommand(dependencies, call, {
        operation: "risk.delete_template",
        serverId,
        accountNumber: null,
        idempotencyKey,
        body: { name, ...query },
        reusedStatus: 400,
        state: async () => {
          const removed = removedServer(call);
          if (removed !== null) return { rejection: removed, accountId: null };
          const isKnown = (await risk.template(serverId, name)) !== null;
          return { rejection: isKnown ? null : new ApiError("RISK_TEMPLATE_NOT_FOUND"), accountId: null };
        },
      });
    },
  };
}

/**
 * The error if the selection of a template matches no account, else null. Only for a template whose
 * `newAccounts` is false.
 */
async function emptySelection(
  accounts: Pick<Dependencies["accounts"], "countSelected">,
  serverId: string,
  selection: RiskTemplateSelection,
): Promise<ApiError | null> {
  if ((await accounts.countSelected(serverId, selection)) > 0) return null;
  const message = "matches no account of the server, and newAccounts is false";
  return new ApiError("VALIDATION_FAILED", { issues: [{ path: ["appliesTo"], code: "custom", message }] });
}
