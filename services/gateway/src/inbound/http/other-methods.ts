import { OPERATIONS } from "@kapi/contracts";
import { ApiError, type FastifyInstance } from "@kapi/http";

/** Methods of HTTP that are rejected on a path without them. */
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY"] as const;

/**
 * Responds 405 with `Allow` (RFC 9110, 15.5.6) to each of {@link METHODS} that a path of the
 * interface does not have. The response has the usual body of an error. The request costs nothing.
 * Unknown paths are 404.
 */
export function registerOtherMethodRoutes(app: FastifyInstance): void {
  const allowed = new Map<string, Set<string>>();
  for (const { method, path } of Object.values(OPERATIONS)) {
    allowed.set(path, (allowed.get(path) ?? new Set()).add(method));
  }
  for (const [url, methods] of allowed) {
    const error = new ApiError("METHOD_NOT_ALLOWED", { headers: { allow: [...methods].join(", ") } });
    app.route({
      method: METHODS.filter((method) => !methods.has(method)),
      url,
      onRequest: (_request, _reply, done) => done(error),
      handler: () => Promise.reject(error),
    });
  }
}
