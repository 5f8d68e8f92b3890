/** The session, and what is shown with and without one. */
import { Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { Client } from "./api/client.ts";
import type { ConsoleApi } from "./api/console-api.ts";
import { asFailure, type Failure } from "./api/failure.ts";
import type { ConsoleSession } from "./api/shapes.ts";
import { Frame } from "./frame.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { lazyPage } from "./parts/lazy-page.tsx";
import { Notice } from "./parts/notice.tsx";
import { countMove, usePageAddress } from "./router.tsx";
import { pageAt } from "./routes.tsx";
import { loadZoneOf, onZoneChange } from "./time-zone.ts";

const AcceptPage = lazyPage(async () => (await import("./pages/accept.tsx")).AcceptPage);
const RecoverPage = lazyPage(async () => (await import("./pages/accept.tsx")).RecoverPage);
const EnrolPage = lazyPage(async () => (await import("./pages/two-factor.tsx")).EnrolPage);

type State =
  | { readonly kind: "asking" }
  | { readonly kind: "unknown"; readonly failure: Failure }
  | { readonly kind: "out"; readonly ended: boolean }
  | { readonly kind: "in"; readonly session: ConsoleSession };

interface AppProps {
  readonly client: Client;
  readonly api: ConsoleApi;
}

/** The console: the sign-in form, or the page of the current address. */
export function App({ client, api }: AppProps) {
  const [state, setState] = useState<State>({ kind: "asking" });
  const address = usePageAddress();
  const [attempts, setAttempts] = useState(0);
  useRenderedAtZoneChange();
  const enter = (session: ConsoleSession): void => {
    loadZoneOf(session.user.id);
    setState({ kind: "in", session });
  };
  useEffect(() => {
    client.onSessionEnded(() => {
      countMove();
      setState({ kind: "out", ended: true });
    });
    setState({ kind: "asking" });
    api
      .session()
      .then((session) => (session === null ? setState({ kind: "out", ended: false }) : enter(session)))
      .catch((error: unknown) => setState({ kind: "unknown", failure: asFailure(error) }));
  }, [client, api, attempts]);
  const begin = (session: ConsoleSession): void => {
    countMove();
    enter(session);
  };
  /** Reads the session again: its permissions or its second factor have changed. */
  const renew = async (): Promise<void> => {
    const session = await api.session();
    if (session === null) leave();
    else setState({ kind: "in", session });
  };
  const leave = (): void => {
    countMove();
    setState({ kind: "out", ended: false });
  };
  if (state.kind === "asking") return <p class="alone quiet">Loading…</p>;
  if (state.kind === "unknown") {
    return (
      <main class="alone">
        <Notice kind="problem">{state.failure.message}</Notice>
        <button type="button" onClick={() => setAttempts(attempts + 1)}>
          Try again
        </button>
      </main>
    );
  }
  if (address.segments[0] === "accept") return <AcceptPage api={api} onSignedIn={begin} />;
  if (address.segments[0] === "recover") return <RecoverPage api={api} />;
  if (state.kind === "out") return <SignInPage api={api} ended={state.ended} onSignedIn={begin} />;
  return (
    <Frame api={api} session={state.session} address={address} onSignedOut={leave}>
      {state.session.twoFactor.mustEnrol ? (
        <EnrolPage onChanged={renew} />
      ) : (
        <Fragment key={address.segments.join("/")}>
          {pageAt(address, { onNewSession: begin, onChanged: renew })}
        </Fragment>
      )}
    </Frame>
  );
}

/** Renders the whole page again when another time zone is chosen. */
function useRenderedAtZoneChange(): void {
  const [, renderAgain] = useState({});
  useEffect(() => onZoneChange(() => renderAgain({})), []);
}
