import { ORGANIZATION_ROUTES } from "@kapi/contracts";
import { addressOf, type FastifyInstance, type FastifyRequest, serve } from "@kapi/http";

import type { AuditCaller } from "../../domain/audit.ts";
import { changePrices } from "../../operations/directory/change-prices.ts";
import { createKey } from "../../operations/directory/create-key.ts";
import { createOrganization } from "../../operations/directory/create-organization.ts";
import { purchaseCredits } from "../../operations/credits/purchase-credits.ts";
import { type RegistrationContext, registerServer } from "../../operations/directory/register-server.ts";
import { revokeKey } from "../../operations/directory/revoke-key.ts";

/** The operator's routes. */
export function installRoutes(app: FastifyInstance, context: RegistrationContext): void {
  serve(app, ORGANIZATION_ROUTES.createOrganization, ({ body }, request) =>
    createOrganization(context, body, operatorOf(request)),
  );
  serve(app, ORGANIZATION_ROUTES.createKey, async ({ params: { organizationId }, body }, request) => {
    const { key, managementKey } = await createKey(context, { organizationId, ...body }, operatorOf(request));
    return { keyId: key.keyId, managementKey };
  });
  serve(app, ORGANIZATION_ROUTES.registerServer, ({ params: { organizationId }, body }, request) =>
    registerServer(context, { organizationId, ...body }, operatorOf(request)),
  );
  serve(app, ORGANIZATION_ROUTES.purchaseCredits, async ({ params: { organizationId }, body }) => {
    const { credits, purchaseId } = body;
    await purchaseCredits(context, { organizationId, credits, purchaseId });
    return { purchaseId };
  });
  serve(app, ORGANIZATION_ROUTES.revokeKey, async ({ params: { keyId } }, request) => {
    await revokeKey(context, keyId, null, operatorOf(request));
    return { keyId, revoked: true };
  });
  serve(app, ORGANIZATION_ROUTES.changePrices, async ({ body: prices }) => {
    await changePrices(context, prices);
    return { prices };
  });
}

/** Whoever has the internal token and asks for a change, for the audit log. */
export function operatorOf(request: FastifyRequest): AuditCaller {
  return { actor: { type: "operator", id: null }, address: addressOf(request) };
}
