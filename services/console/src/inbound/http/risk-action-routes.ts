import {
  ACCOUNT_ACTIONS,
  DeleteRiskRulesQuery,
  DeleteRiskTemplateQuery,
  RiskActionBody,
  RiskTemplateName,
  SetRiskRulesBody,
  SetRiskTemplateBody,
  TEMPLATE_ACTIONS,
} from "@kapi/contracts";
import { parse } from "@kapi/http";
import { z } from "zod";

import type { PersonOperations } from "../../domain/person-operations.ts";
import {
  requireRulesVersion,
  requireTemplateVersion,
  type RiskVersionDependencies,
} from "../../operations/require-risk-version.ts";
import { accountActionPath, operationRequest, sendAnswer } from "./action-routes.ts";
import { AccountPath, ServerPath } from "./server-routes.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

const RULE_BODIES = { "set-risk-rules": SetRiskRulesBody, "delete-risk-rules": DeleteRiskRulesQuery } as const;
const TEMPLATE_BODIES = { "set-template": SetRiskTemplateBody, "delete-template": DeleteRiskTemplateQuery } as const;
const TemplatePath = ServerPath.extend({ templateName: z.string() });

/**
 * Changes of risk rules and templates by people. Unlike for other actions, the console first checks
 * the fields: a mistake costs no credits. It also checks that the person saw the newest version.
 */
export function registerRiskActionRoutes(
  routes: SignedInRoutes,
  dependencies: RiskVersionDependencies & { readonly personOperations: PersonOperations },
): void {
  const { directory, personOperations } = dependencies;
  for (const action of ["set-risk-rules", "delete-risk-rules"] as const) {
    const { operation, permission } = ACCOUNT_ACTIONS[action];
    routes.post(accountActionPath(action), permission, async (signedIn, request, reply) => {
      const { organizationId, userId } = signedIn.user;
      const account = parse(AccountPath, request.params);
      const { idempotencyKey, expectedVersion, ...fields } = parse(RiskActionBody, request.body);
      const asked = operationRequest(signedIn, request, fields);
      parse(RULE_BODIES[action], asked.body);
      await directory.server(organizationId, account.serverId);
      await requireRulesVersion(dependencies, account, { organizationId, userId, idempotencyKey, expectedVersion });
      const answer = personOperations.onAccount(
        { organizationId, ...account },
        { operation, idempotencyKey, ...asked },
      );
      return sendAnswer(reply, await answer);
    });
  }
  for (const action of ["set-template", "delete-template"] as const) {
    const { operation, permission } = TEMPLATE_ACTIONS[action];
    const path = `/servers/:serverId/risk-templates/:templateName/actions/${action}`;
    routes.post(path, permission, async (signedIn, request, reply) => {
      const { organizationId, userId } = signedIn.user;
      const { serverId, templateName } = parse(TemplatePath, request.params);
      const { idempotencyKey, expectedVersion, ...fields } = parse(RiskActionBody, request.body);
      const asked = operationRequest(signedIn, request, fields);
      parse(z.object({ name: RiskTemplateName }), { name: templateName });
      parse(TEMPLATE_BODIES[action], asked.body);
      await directory.server(organizationId, serverId);
      const expected = { organizationId, userId, idempotencyKey, expectedVersion };
      await requireTemplateVersion(dependencies, { serverId, templateName }, expected);
      const template = { organizationId, serverId, templateName };
      return sendAnswer(reply, await personOperations.onTemplate(template, { operation, idempotencyKey, ...asked }));
    });
  }
}
