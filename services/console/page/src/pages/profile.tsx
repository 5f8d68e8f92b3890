import { useState } from "preact/hooks";

import { useApi, useSession } from "../api/context.ts";
import type { ConsoleSession } from "../api/shapes.ts";
import { Notice, Problem } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { CodeField, CurrentPasswordField, NewPasswordField } from "../parts/password-field.tsx";
import { useAction } from "../parts/use-data.ts";
import { Detail, DetailList } from "../parts/values.tsx";
import { OwnSessions } from "./own-sessions.tsx";
import { roleInWords } from "./role-words.ts";
import { TwoFactorSection } from "./two-factor.tsx";

interface ProfileProps {
  /** Called with the session that replaces the current one. */
  readonly onNewSession: (session: ConsoleSession) => void;
  /** Reads the session again after a change. */
  readonly onChanged: () => Promise<void>;
}

/** The profile of the signed-in person: password, second factor and sessions. */
export function ProfilePage({ onNewSession, onChanged }: ProfileProps) {
  const { user, organization } = useSession();
  return (
    <Page title="Your profile">
      <section class="card">
        <DetailList>
          <Detail name="Name">{user.name}</Detail>
          <Detail name="E-mail">{user.email}</Detail>
          <Detail name="Role">{roleInWords(user.role)}</Detail>
          <Detail name="Organization">{organization.name}</Detail>
        </DetailList>
      </section>
      <TwoFactorSection onChanged={onChanged} />
      <OwnSessions onNewSession={onNewSession} />
      <section class="card narrow">
        <h2>Change your password</h2>
        <PasswordForm onNewSession={onNewSession} />
      </section>
    </Page>
  );
}

function PasswordForm({ onNewSession }: Pick<ProfileProps, "onNewSession">) {
  const api = useApi();
  const { user, twoFactor } = useSession();
  const [current, setCurrent] = useState("");
  const [wanted, setWanted] = useState("");
  const [code, setCode] = useState("");
  const [changed, setChanged] = useState(false);
  const change = useAction(async () => {
    setChanged(false);
    onNewSession(await api.changePassword(current, wanted, twoFactor.enabled ? code : undefined));
    setCurrent("");
    setWanted("");
    setCode("");
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
      <CurrentPasswordField
        label="Current password"
        value={current}
        onInput={setCurrent}
        error={change.failure?.of("currentPassword") ?? null}
      />
      <NewPasswordField
        label="New password"
        value={wanted}
        onInput={setWanted}
        error={change.failure?.of("newPassword") ?? null}
      />
      {twoFactor.enabled ? (
        <CodeField
          label="Code for the change"
          value={code}
          onInput={setCode}
          error={change.failure?.of("code") ?? null}
        />
      ) : null}
      <Problem failure={change.failure} fields={["currentPassword", "newPassword", "code"]} />
      {changed ? <Notice kind="good">Your password was changed.</Notice> : null}
      <button type="submit" class="primary" disabled={change.busy}>
        {change.busy ? "Changing…" : "Change password"}
      </button>
    </form>
  );
}
