import type { ConsoleRequest, ConsoleRequestsAnswer } from "../api/shapes.ts";
import { credits as whole } from "../format.ts";

const FIRST_ERROR = 400;
const FIRST_SERVER_ERROR = 500;

/** The status of the response to a request, with the error code if there is one. */
export function RequestStatus({ of: { status, errorCode } }: { readonly of: ConsoleRequest }) {
  if (status === null) return <span class="state neutral">no response</span>;
  const tone = status >= FIRST_SERVER_ERROR ? "bad" : status >= FIRST_ERROR ? "waiting" : "good";
  return (
    <>
      <span class={`state ${tone}`}>{status}</span> {errorCode === null ? null : <code>{errorCode}</code>}
    </>
  );
}

/** Says how many requests of the shown time were not logged; shows nothing if all were logged. */
export function OmittedRequests({ of: { reads, others } }: { readonly of: ConsoleRequestsAnswer["omitted"] }) {
  if (reads === 0 && others === 0) return null;
  const parts = [
    reads === 0 ? null : `${whole(reads)} successful ${reads === 1 ? "read" : "reads"}`,
    others === 0 ? null : `${whole(others)} other ${others === 1 ? "request" : "requests"}`,
  ].filter((text) => text !== null);
  return (
    <p class="quiet">
      {parts.join(" and ")} in the time shown on this page {reads + others === 1 ? "was" : "were"} not logged: a busy
      organization's log has only a part of its requests. All of them were answered and charged as usual.
    </p>
  );
}
