import { CreateConsoleKeyBody, KeyEntry, type Scope, SCOPES } from "@kapi/contracts";
import { addressOf, parse } from "@kapi/http";
import { z } from "zod";

import type { Directory } from "../../domain/ports.ts";
import type { RequestLogStore } from "../../domain/request-log.ts";
import { listKeys } from "../../operations/list-keys.ts";
import { callerOf } from "../../operations/use-session.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

const KeyPath = z.object({ keyId: KeyEntry.shape.keyId });

/** Describes each scope for people who create a key. */
const SCOPE_TEXTS: Readonly<Record<Scope, string>> = {
  "credits:read": "See the credits and what they were used for",
  "accounts:read": "See servers, accounts, their history and commands, and export a history",
  "accounts:create": "Open accounts",
  "accounts:update":
    "Change, enable, disable, archive and delete accounts, set passwords, and change a server's configuration",
  "finance:deposit": "Deposit funds into accounts",
  "finance:withdraw": "Withdraw funds from accounts",
  "metrics:read": "See stored and live values of accounts",
  "webhooks:read": "See webhook endpoints and what was sent to them, and read the feed of events",
  "risk:read":
    "See risk rules, risk templates, breaches and their evidence, and accounts as they were at an earlier time",
  "risk:manage":
    "Set and remove risk rules and templates, which may disable accounts; close all positions of an account, or let it only close positions",
  "webhooks:manage": "Add, change, test and delete webhook endpoints, and send events again",
};

/**
 * Management keys of the organization. A new key reaches all servers of the organization
 * (decisions, 12).
 */
export function registerKeyRoutes(
  routes: SignedInRoutes,
  dependencies: { readonly directory: Directory; readonly requestLog: RequestLogStore },
): void {
  const { directory } = dependencies;
  routes.get("/scopes", "read", () => ({
    scopes: SCOPES.map((scope) => ({ scope, description: SCOPE_TEXTS[scope] })),
  }));
  routes.get("/keys", "read", async ({ user }) => ({ keys: await listKeys(dependencies, user.organizationId) }));
  routes.post("/keys", "keys:manage", async (signedIn, request, reply) => {
    const wanted = parse(CreateConsoleKeyBody, request.body);
    const by = callerOf(signedIn, addressOf(request));
    const { key, managementKey } = await directory.createKey(signedIn.user.organizationId, wanted, by);
    return reply.code(201).send({ key, managementKey });
  });
  routes.delete("/keys/:keyId", "keys:manage", async (signedIn, request) => {
    const { keyId } = parse(KeyPath, request.params);
    const by = callerOf(signedIn, addressOf(request));
    return { key: await directory.revokeKey(signedIn.user.organizationId, keyId, by) };
  });
}
