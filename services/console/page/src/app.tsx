/** The frame around all pages, and the page of each address. */
import { type ComponentChildren, Fragment } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";

import type { Client } from "./api/client.ts";
import type { ConsoleApi } from "./api/console-api.ts";
import { SignedInContext } from "./api/context.ts";
import { asFailure, type Failure } from "./api/failure.ts";
import type { ConsoleSession } from "./api/shapes.ts";
import { AccountPage } from "./pages/account/account.tsx";
import { AccountsPage } from "./pages/accounts.tsx";
import { AuditPage } from "./pages/audit.tsx";
import { BreachPage } from "./pages/breach.tsx";
import { CommandPage } from "./pages/command.tsx";
import { CommandsPage } from "./pages/commands.tsx";
import { CreditsPage } from "./pages/credits.tsx";
import { KeysPage } from "./pages/keys.tsx";
import { NotFoundPage } from "./pages/not-found.tsx";
import { ProfilePage } from "./pages/profile.tsx";
import { ServersPage } from "./pages/servers.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { WebhookPage } from "./pages/webhook.tsx";
import { WebhooksPage } from "./pages/webhooks.tsx";
import { Notice } from "./parts/notice.tsx";
import { useAction } from "./parts/use-data.ts";
import { countMove, Link, type Place, usePlace } from "./router.tsx";

const NAVIGATION = [
  ["credits", "Credits"],
  ["keys", "Keys"],
  ["servers", "Servers"],
  ["accounts", "Accounts"],
  ["commands", "Commands"],
  ["webhooks", "Webhooks"],
  ["audit", "Audit log"],
] as const;
const FIRST_PAGE = NAVIGATION[0][0];

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
  const place = usePlace();
  const [attempts, setAttempts] = useState(0);
  useEffect(() => {
    client.onSessionEnded(() => {
      countMove();
      setState({ kind: "out", ended: true });
    });
    setState({ kind: "asking" });
    api
      .session()
      .then((session) => setState(session === null ? { kind: "out", ended: false } : { kind: "in", session }))
      .catch((error: unknown) => setState({ kind: "unknown", failure: asFailure(error) }));
  }, [client, api, attempts]);
  const enter = (session: ConsoleSession): void => {
    countMove();
    setState({ kind: "in", session });
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
  if (state.kind === "out") return <SignInPage api={api} ended={state.ended} onSignedIn={enter} />;
  return (
    <Frame api={api} session={state.session} place={place} onSignedOut={leave}>
      <Fragment key={place.segments.join("/")}>{pageAt(place, enter)}</Fragment>
    </Frame>
  );
}

interface FrameProps {
  readonly api: ConsoleApi;
  readonly session: ConsoleSession;
  readonly place: Place;
  readonly onSignedOut: () => void;
  readonly children: ComponentChildren;
}

function Frame({ api, session, place, onSignedOut, children }: FrameProps) {
  const signedIn = useMemo(() => ({ api, session }), [api, session]);
  const signOut = useAction(async () => {
    await api.signOut();
    onSignedOut();
  });
  const [shown = FIRST_PAGE] = place.segments;
  return (
    <SignedInContext.Provider value={signedIn}>
      <a class="skip" href="#page">
        Skip to content
      </a>
      <header class="top">
        <span class="brand">kapi console</span>
        <span class="organization">{session.organization.name}</span>
        <span class="person">
          <Link to="/profile" current={shown === "profile"}>
            {session.user.name}
          </Link>
          <button type="button" class="plain" disabled={signOut.busy} onClick={signOut.run}>
            Sign out
          </button>
        </span>
      </header>
      {signOut.failure === null ? null : <Notice kind="problem">{signOut.failure.message}</Notice>}
      <nav class="main-nav" aria-label="Pages">
        <ul>
          {NAVIGATION.map(([name, title]) => (
            <li key={name}>
              <Link to={`/${name}`} current={shown === name}>
                {title}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <main id="page" tabIndex={-1}>
        {children}
      </main>
    </SignedInContext.Provider>
  );
}

function pageAt({ segments, query }: Place, onNewSession: (session: ConsoleSession) => void) {
  const [name = FIRST_PAGE, first, second, below, breachId, ...more] = segments;
  if (first !== undefined && second !== undefined && breachId !== undefined && more.length === 0) {
    if (name === "accounts" && below === "breaches") {
      return <BreachPage serverId={first} accountNumber={second} breachId={breachId} />;
    }
  }
  if (below !== undefined) return <NotFoundPage />;
  if (first !== undefined && second !== undefined) {
    if (name === "accounts") return <AccountPage serverId={first} accountNumber={second} query={query} />;
    if (name === "commands") return <CommandPage serverId={first} commandId={second} />;
  }
  if (first !== undefined && second === undefined && name === "webhooks") {
    return <WebhookPage endpointId={first} query={query} />;
  }
  if (first !== undefined) return <NotFoundPage />;
  switch (name) {
    case "credits":
      return <CreditsPage />;
    case "keys":
      return <KeysPage />;
    case "servers":
      return <ServersPage />;
    case "accounts":
      return <AccountsPage query={query} />;
    case "commands":
      return <CommandsPage query={query} />;
    case "webhooks":
      return <WebhooksPage />;
    case "audit":
      return <AuditPage />;
    case "profile":
      return <ProfilePage onNewSession={onNewSession} />;
    default:
      return <NotFoundPage />;
  }
}
