import type { OutgoingHttpHeaders } from "node:http";

import { type FastifyInstance, parse } from "@kapi/http";

import type { ServerDependencies } from "../../operations/list-servers.ts";
import type { LiveAccounts } from "../../operations/live-accounts.ts";
import { watchAccount } from "../../operations/watch-account.ts";
import { EventStream } from "./event-stream.ts";
import { AccountPath } from "./server-routes.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

/** An account's live samples as server-sent events. */
export function registerLiveRoutes(
  app: FastifyInstance,
  routes: SignedInRoutes,
  dependencies: ServerDependencies & { readonly live: LiveAccounts },
): void {
  const { live } = dependencies;
  routes.get("/servers/:serverId/accounts/:accountNumber/live", "read", async (signedIn, request, reply) => {
    const account = parse(AccountPath, request.params);
    const session = await watchAccount(dependencies, signedIn, account);
    const stream = new EventStream(reply.raw);
    const unwatch = live.watch(session, account, stream);
    const headers = reply.getHeaders() as OutgoingHttpHeaders;
    reply.hijack();
    stream.begin(headers, unwatch);
    return reply;
  });
  // Open streams would keep the listener from stopping.
  app.addHook("preClose", (done) => {
    live.endAll();
    done();
  });
}
