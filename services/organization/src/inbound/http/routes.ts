import { GivenName, Guid, KeyEntry, Prices, Scope, ServerEntry } from "@kapi/contracts";
import { addressOf, type FastifyInstance, type FastifyRequest, parse } from "@kapi/http";
import { z } from "zod";

import type { AuditCaller } from "../../domain/audit.ts";
import { changePrices } from "../../operations/change-prices.ts";
import { createKey } from "../../operations/create-key.ts";
import { createOrganization } from "../../operations/create-organization.ts";
import { purchaseCredits } from "../../operations/purchase-credits.ts";
import { type RegistrationContext, registerServer } from "../../operations/register-server.ts";
import { revokeKey } from "../../operations/revoke-key.ts";

/** Far above any wallet, far below where integers lose their exactness. */
const MAX_CREDITS = 1_000_000_000_000;
const Credits = z.int().min(0).max(MAX_CREDITS);

const NewOrganization = z.object({
  name: z.string().min(1).max(200),
  credits: Credits,
  lowBalanceThreshold: Credits.optional(),
});
const NewKey = z.object({
  name: GivenName.default("Management key"),
  scopes: z.array(Scope).min(1),
  serverIds: z.array(Guid).nullable().default(null),
  expiresAt: z.iso
    .datetime({ offset: true })
    .transform((text) => new Date(text).toISOString())
    .nullable()
    .default(null),
  rateLimit: KeyEntry.shape.rateLimit.default(null),
});
/** Of a trading server's token. */
const MIN_TOKEN_CHARACTERS = 16;
const MAX_TOKEN_CHARACTERS = 500;
/** What an HTTP header can carry. */
const TOKEN = /^[\x21-\x7e]*$/;
const NewServer = z.object({
  serverId: Guid.optional(),
  tradingServerUrl: z.url({ protocol: /^https?$/ }),
  tradingServerToken: z
    .string()
    .min(MIN_TOKEN_CHARACTERS)
    .max(MAX_TOKEN_CHARACTERS)
    .regex(TOKEN, "must be of visible ASCII characters")
    .optional(),
  configuration: ServerEntry.shape.configuration,
});
const Purchase = z.object({ credits: Credits, purchaseId: Guid });
const OrganizationPath = z.object({ organizationId: Guid });
const KeyPath = z.object({ keyId: KeyEntry.shape.keyId });

/** The operator's routes; who may call them is decided before (INTERNAL_CALLS). */
export function installRoutes(app: FastifyInstance, context: RegistrationContext): void {
  app.post("/internal/organizations", async (request, reply) => {
    const created = await createOrganization(context, parse(NewOrganization, request.body), operatorOf(request));
    return reply.status(201).send(created);
  });
  app.post("/internal/organizations/:organizationId/keys", async (request, reply) => {
    const { organizationId } = parse(OrganizationPath, request.params);
    const wanted = { organizationId, ...parse(NewKey, request.body) };
    const { key, managementKey } = await createKey(context, wanted, operatorOf(request));
    return reply.status(201).send({ keyId: key.keyId, managementKey });
  });
  app.post("/internal/organizations/:organizationId/servers", async (request, reply) => {
    const { organizationId } = parse(OrganizationPath, request.params);
    const wanted = { organizationId, ...parse(NewServer, request.body) };
    const registered = await registerServer(context, wanted, operatorOf(request));
    return reply.status(201).send(registered);
  });
  app.post("/internal/organizations/:organizationId/credits", async (request, reply) => {
    const { organizationId } = parse(OrganizationPath, request.params);
    const { credits, purchaseId } = parse(Purchase, request.body);
    await purchaseCredits(context, { organizationId, credits, purchaseId });
    return reply.send({ purchaseId });
  });
  app.delete("/internal/keys/:keyId", async (request, reply) => {
    const { keyId } = parse(KeyPath, request.params);
    await revokeKey(context, keyId, null, operatorOf(request));
    return reply.send({ keyId, revoked: true });
  });
  app.put("/internal/prices", async (request, reply) => {
    const prices = parse(Prices, request.body);
    await changePrices(context, prices);
    return reply.send({ prices });
  });
}

/** Whoever has the internal token and asks for a change, for the audit log. */
export function operatorOf(request: FastifyRequest): AuditCaller {
  return { actor: { type: "operator", id: null }, address: addressOf(request) };
}
