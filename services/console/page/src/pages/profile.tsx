import { useState } from "preact/hooks";

import { useApi, useSession } from "../api/context.ts";
import type { ConsoleSession } from "../api/shapes.ts";
import { Field } from "../parts/field.tsx";
import { Notice, Problem } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { useAction } from "../parts/use-data.ts";
import { Detail, DetailList } from "../parts/values.tsx";

/** The service's limit (contracts, `UserPassword`). */
const FEWEST_CHARACTERS = 12;
const MOST_CHARACTERS = 200;

/**
 * The signed-in user, and a form for their password. `onNewSession` gets the session that a change
 * of the password starts.
 */
export function ProfilePage({ onNewSession }: { readonly onNewSession: (session: ConsoleSession) => void }) {
  const { user, organization } = useSession();
  return (
    <Page title="Your profile">
      <section class="card">
        <DetailList>
          <Detail name="Name">{user.name}</Detail>
          <Detail name="E-mail">{user.email}</Detail>
          <Detail name="Organization">{organization.name}</Detail>
        </DetailList>
      </section>
      <section class="card narrow">
        <h2>Change your password</h2>
        <PasswordForm onNewSession={onNewSession} />
      </section>
    </Page>
  );
}

function PasswordForm({ onNewSession }: { readonly onNewSession: (session: ConsoleSession) => void }) {
  const api = useApi();
  const { user } = useSession();
  const [current, setCurrent] = useState("");
  const [wanted, setWanted] = useState("");
  const [changed, setChanged] = useState(false);
  const change = useAction(async () => {
    setChanged(false);
    onNewSession(await api.changePassword(current, wanted));
    setCurrent("");
    setWanted("");
    setChanged(true);
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    change.run();
  };
  return (
    <form onSubmit={submit}>
      <p>Changing your password signs you out on all other devices.</p>
      <input type="hidden" name="username" autoComplete="username" value={user.email} />
      <Field label="Current password" error={change.failure?.of("currentPassword") ?? null}>
        {(tied) => (
          <input
            {...tied}
            type="password"
            autoComplete="current-password"
            required
            value={current}
            onInput={({ currentTarget }) => setCurrent(currentTarget.value)}
          />
        )}
      </Field>
      <Field
        label="New password"
        hint={`At least ${FEWEST_CHARACTERS} characters`}
        error={change.failure?.of("newPassword") ?? null}
      >
        {(tied) => (
          <input
            {...tied}
            type="password"
            autoComplete="new-password"
            required
            minLength={FEWEST_CHARACTERS}
            maxLength={MOST_CHARACTERS}
            value={wanted}
            onInput={({ currentTarget }) => setWanted(currentTarget.value)}
          />
        )}
      </Field>
      <Problem failure={change.failure} fields={["currentPassword", "newPassword"]} />
      {changed ? <Notice kind="good">Your password was changed.</Notice> : null}
      <button type="submit" class="primary" disabled={change.busy}>
        {change.busy ? "Changing…" : "Change password"}
      </button>
    </form>
  );
}
