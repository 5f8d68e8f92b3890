import { Guid, ListRequestsQuery } from "@kapi/contracts";
import { ApiError, parse } from "@kapi/http";
import { z } from "zod";

import type { RequestLogStore } from "../../domain/request-log.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

const RequestPath = z.object({ id: Guid });

/** The request log of the organization. */
export function registerRequestRoutes(routes: SignedInRoutes, requestLog: RequestLogStore): void {
  routes.get("/requests", "read", ({ user }, request) =>
    requestLog.list(user.organizationId, parse(ListRequestsQuery, request.query)),
  );
  routes.get("/requests/:id", "read", async ({ user }, request) => {
    const path = RequestPath.safeParse(request.params);
    const found = path.success ? await requestLog.get(user.organizationId, path.data.id) : null;
    if (found === null) throw new ApiError("NOT_FOUND", { text: "Request not found. Requests are kept for 7 days" });
    return { request: found };
  });
}
