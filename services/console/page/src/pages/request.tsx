import type { ComponentChildren } from "preact";

import { useApi, useSession } from "../api/context.ts";
import type { ConsoleRequest } from "../api/shapes.ts";
import { credits as whole } from "../format.ts";
import { Loaded } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { useData } from "../parts/use-data.ts";
import { AccountLink, CommandLink, Copy, Detail, DetailList, ExactMoment, Nothing } from "../parts/values.tsx";
import { Link, part } from "../router.tsx";
import { RequestStatus } from "./request-parts.tsx";
import { RequestUsage } from "./request-usage.tsx";

/** One request of the log. */
export function RequestPage({ id }: { readonly id: string }) {
  const api = useApi();
  const request = useData(`request ${id}`, (signal) => api.request(id, signal));
  return (
    <Page title="Request">
      <p>
        <Link to="/requests">All requests</Link>
      </p>
      <Loaded data={request} what="the request">
        {(shown) => (
          <>
            <RequestView request={shown} />
            <section class="card">
              <h2>Usage</h2>
              <RequestUsage request={shown} />
            </section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function RequestView({ request }: { readonly request: ConsoleRequest }) {
  const { serverId, accountNumber, actor, errorCode, requestId } = request;
  return (
    <section class="card">
      <DetailList>
        <Detail name="Operation">
          {request.operation} <span class="under">{request.method}</span>
        </Detail>
        <Detail name="Status">
          <RequestStatus of={request} />
          {errorCode === null ? null : <ErrorLink code={errorCode} />}
        </Detail>
        <Detail name="When">
          <ExactMoment at={request.at} />
        </Detail>
        <Detail name="Duration">{whole(request.durationMs)} ms</Detail>
        <Detail name="Credits charged">
          {whole(request.creditsCharged)} <Link to="/credits">Usage</Link>
        </Detail>
        <Detail name="Account">
          <OrNothing>
            {serverId === null || accountNumber === null ? null : (
              <AccountLink serverId={serverId} accountNumber={accountNumber} />
            )}
          </OrNothing>
        </Detail>
        <Detail name="Command">
          <OrNothing>
            {serverId === null || request.commandId === null ? null : (
              <CommandLink serverId={serverId} commandId={request.commandId} />
            )}
          </OrNothing>
        </Detail>
        <Detail name={actor.type === "key" ? "Key" : "Person"}>
          <code>{actor.id}</code>{" "}
          <Link to={`/requests?actor=${part(actor.id)}`}>
            All requests of this {actor.type === "key" ? "key" : "person"}
          </Link>
        </Detail>
        <Detail name="Network address">{request.address ?? <Nothing />}</Detail>
        <Detail name="Server">
          <OrNothing>{serverId === null ? null : <code>{serverId}</code>}</OrNothing>
        </Detail>
        <Detail name="Request id" wide>
          <code>{requestId}</code> <Copy text={requestId} what="the request id" />
        </Detail>
      </DetailList>
    </section>
  );
}

/** Links to the documentation of an error, on the host of the management API. */
function ErrorLink({ code }: { readonly code: string }) {
  const { apiUrl } = useSession();
  return (
    <a class="under" href={`${apiUrl}/docs/errors/${part(code)}`} target="_blank" rel="noreferrer">
      What this error means
    </a>
  );
}

function OrNothing({ children }: { readonly children: ComponentChildren }) {
  return <>{children ?? <Nothing />}</>;
}
