import { useState } from "preact/hooks";

import type { ConsoleApi } from "../api/console-api.ts";
import type { ConsoleSession } from "../api/shapes.ts";
import { Field } from "../parts/field.tsx";
import { Notice, Problem } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { useAction } from "../parts/use-data.ts";

interface SignInProps {
  readonly api: ConsoleApi;
  /** Whether a session has ended. */
  readonly ended: boolean;
  readonly onSignedIn: (session: ConsoleSession) => void;
}

/**
 * The sign-in form, shown at the requested address. After the sign-in, the requested page appears.
 */
export function SignInPage({ api, ended, onSignedIn }: SignInProps) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const signIn = useAction(async () => onSignedIn(await api.signIn(email, password)));
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    signIn.run();
  };
  return (
    <main class="alone">
      <p class="brand">kapi console</p>
      <Page title="Sign in">
        {ended ? <Notice kind="warning">Your session has ended. Sign in again to continue.</Notice> : null}
        <form class="card" onSubmit={submit}>
          <Field label="E-mail">
            {(tied) => (
              <input
                {...tied}
                type="email"
                autoComplete="username"
                required
                value={email}
                onInput={({ currentTarget }) => setEmail(currentTarget.value)}
              />
            )}
          </Field>
          <Field label="Password">
            {(tied) => (
              <input
                {...tied}
                type="password"
                autoComplete="current-password"
                required
                value={password}
                onInput={({ currentTarget }) => setPassword(currentTarget.value)}
              />
            )}
          </Field>
          <Problem failure={signIn.failure} />
          <button type="submit" class="primary" disabled={signIn.busy}>
            {signIn.busy ? "Signing in…" : "Sign in"}
          </button>
        </form>
      </Page>
    </main>
  );
}
