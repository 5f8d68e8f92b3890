import type { ErrorBody, Issue } from "./shapes.ts";

const UNREACHABLE = "The console cannot reach its server. Check your connection and try again.";
const TOO_SLOW = "The server did not answer in time. Try again.";
const BROKEN = "Something went wrong on our side. Try again in a moment.";
const OUT_OF_DATE = "You signed in again in another tab, so this page is out of date. Reload it and try again.";
/** Code of a rejected CSRF token. */
const WRONG_TOKEN = "CROSS_SITE_REQUEST";
const FIRST_SERVER_ERROR = 500;
export const UNAUTHORIZED = 401;
export const FORBIDDEN = 403;
const TOO_MANY_REQUESTS = 429;
/** What an error answer has besides its message. */
interface Details {
  readonly issues?: readonly Issue[];
  readonly code?: string | null;
  readonly requestId?: string | null;
}

/** Why a request failed, as text for the user. */
export class Failure extends Error {
  override readonly name = "Failure";
  /** Null: no answer, or the page itself rejected the input. */
  readonly status: number | null;
  /** Issues by field. */
  readonly issues: readonly Issue[];
  /** Code of the error, such as MISSING_PERMISSION. */
  readonly code: string | null;
  /** Id of the request, by which the operator of kapi finds the request in logs. */
  readonly requestId: string | null;

  constructor(message: string, status: number | null = null, details: Details = {}) {
    super(message);
    this.status = status;
    this.issues = details.issues ?? [];
    this.code = details.code ?? null;
    this.requestId = details.requestId ?? null;
  }

  /** Issue of the field `name`, or null. */
  of(name: string): string | null {
    const found = this.issues.find(({ path }) => path[0] === name);
    return found === undefined ? null : sentence(found.message);
  }
}

/** The failure that an error answer describes. */
export async function failureOf(response: Response): Promise<Failure> {
  const { status, headers } = response;
  const body = await response.json().catch(() => null);
  const code = headers.get("x-error-code");
  const requestId = headers.get("x-request-id");
  if (status >= FIRST_SERVER_ERROR || !isErrorBody(body)) return new Failure(BROKEN, status, { code, requestId });
  if (code === WRONG_TOKEN) return new Failure(OUT_OF_DATE, status, { code, requestId });
  const waitS = Number(headers.get("retry-after"));
  const wait = status === TOO_MANY_REQUESTS && waitS > 0 ? ` Try again in ${waitS} s.` : "";
  return new Failure(`${sentence(body.error)}${wait}`, status, { issues: body.issues ?? [], code, requestId });
}

/** The failure for anything that was thrown during a request. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  return new Failure(error instanceof DOMException && error.name === "TimeoutError" ? TOO_SLOW : UNREACHABLE);
}

function isErrorBody(body: unknown): body is ErrorBody {
  return typeof body === "object" && body !== null && "error" in body && typeof body.error === "string";
}

/** The text with a capital letter and a full stop. */
export function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
