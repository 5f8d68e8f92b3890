import { CreateConsoleKeyBody, KeyEntry, type Scope, SCOPES } from "@kapi/contracts";
import { addressOf, parse } from "@kapi/http";
import { z } from "zod";

import { consoleKeyOf } from "../../../domain/management-key.ts";
import type { ConsoleContext } from "../../../operations/console-context.ts";
import { createKey } from "../../../operations/create-key.ts";
import { listKeys } from "../../../operations/list-keys.ts";
import { revokeKey } from "../../../operations/revoke-key.ts";
import { callerOf } from "../../../operations/use-session.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

const KeyPath = z.object({ keyId: KeyEntry.shape.keyId });

/** What each scope lets a key do, for people who make one. */
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
  "webhooks:manage": "Add, change, test and delete webhook endpoints, and send events again",
};

/** The organization's management keys. One that is made here reaches all its servers (decisions, 12). */
export function installKeyRoutes(routes: SignedInRoutes, context: ConsoleContext): void {
  routes.get("/scopes", () => ({ scopes: SCOPES.map((scope) => ({ scope, description: SCOPE_TEXTS[scope] })) }));
  routes.get("/keys", async ({ user }) => ({ keys: await listKeys(context, user.organizationId) }));
  routes.post("/keys", async (signedIn, request, reply) => {
    const body = parse(CreateConsoleKeyBody, request.body);
    const { organizationId } = signedIn.user;
    const wanted = { ...body, organizationId, serverIds: null, rateLimit: null };
    const { key, managementKey } = await createKey(context, wanted, callerOf(signedIn, addressOf(request)));
    return reply.code(201).send({ key: consoleKeyOf(key, context.clock.nowMs()), managementKey });
  });
  routes.delete("/keys/:keyId", async (signedIn, request) => {
    const { keyId } = parse(KeyPath, request.params);
    const by = callerOf(signedIn, addressOf(request));
    const key = await revokeKey(context, keyId, signedIn.user.organizationId, by);
    return { key: consoleKeyOf(key, context.clock.nowMs()) };
  });
}
