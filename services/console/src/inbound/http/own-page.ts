/** Checks that a request comes from the console's own page (CSRF protection). */
import { timingSafeEqual } from "node:crypto";

import { CSRF_HEADER } from "@kapi/contracts";
import { ApiError, type FastifyRequest } from "@kapi/http";

/**
 * Throws 403 if `Origin` has another host than the request, or if `Sec-Fetch-Site` is not
 * `same-origin`. Only browsers send these headers: a request without them is accepted.
 */
export function requireOwnOrigin(request: FastifyRequest): void {
  const { origin, "sec-fetch-site": site } = request.headers;
  const isOwnSite = site === undefined || site === "same-origin";
  const isOwnOrigin = origin === undefined || (URL.canParse(origin) && new URL(origin).host === request.host);
  if (!isOwnSite || !isOwnOrigin) throw new ApiError("CROSS_SITE_REQUEST");
}

/**
 * Throws 403 if {@link requireOwnOrigin} does, or if the request does not have the CSRF token of
 * the session. Only the console's own page can read this token.
 */
export function requireCsrfToken(request: FastifyRequest, csrfToken: string): void {
  requireOwnOrigin(request);
  const given = request.headers[CSRF_HEADER];
  const isKnown =
    typeof given === "string" &&
    given.length === csrfToken.length &&
    timingSafeEqual(Buffer.from(given, "latin1"), Buffer.from(csrfToken, "latin1"));
  if (!isKnown) throw new ApiError("CROSS_SITE_REQUEST");
}
