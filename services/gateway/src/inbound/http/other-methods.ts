import { OPERATIONS } from "@kapi/contracts";
import { ApiError, type FastifyInstance } from "@kapi/http";

/** Methods that HTTP has; those that a path does not offer are refused by name. */
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY"] as const;

/**
 * A path of the interface that is called by a method it does not have is 405 with `Allow` (RFC
 * 9110, 15.5.6), in the form of every error; nothing is billed. A path that is none is 404.
 */
export function refuseOtherMethods(app: FastifyInstance): void {
  const offered = new Map<string, Set<string>>();
  for (const { method, path } of Object.values(OPERATIONS)) {
    offered.set(path, (offered.get(path) ?? new Set()).add(method));
  }
  for (const [url, methods] of offered) {
    const error = new ApiError("METHOD_NOT_ALLOWED", { headers: { allow: [...methods].join(", ") } });
    app.route({
      method: METHODS.filter((method) => !methods.has(method)),
      url,
      onRequest: (_request, _reply, done) => done(error),
      handler: () => Promise.reject(error),
    });
  }
}
