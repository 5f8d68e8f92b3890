import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import type { ConsoleApi } from "../api/console-api.ts";
import type { ConsoleSession } from "../api/shapes.ts";
import { Field } from "../parts/field.tsx";
import { Loaded, Notice, Problem } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { NewPasswordField } from "../parts/password-field.tsx";
import { useAction, useData } from "../parts/use-data.ts";
import { go } from "../router.tsx";
import { roleInWords } from "./role-words.ts";

const NAME_CHARACTERS = 100;
const NOT_FOUND = 404;

/**
 * The token of an invitation or recovery link: the fragment of the address, which browsers send to
 * no server.
 */
function tokenInAddress(): string {
  return location.hash.slice(1);
}

interface AcceptProps {
  readonly api: ConsoleApi;
  readonly onSignedIn: (session: ConsoleSession) => void;
}

/** The page of an invitation link: the person chooses a name and a password, and is signed in. */
export function AcceptPage({ api, onSignedIn }: AcceptProps) {
  const [token] = useState(tokenInAddress);
  const invitation = useData(token, (signal) => api.people.openInvitation(token, signal));
  return (
    <main class="alone">
      <p class="brand">kapi console</p>
      <Page title="Your invitation">
        {invitation.failure?.status === NOT_FOUND ? (
          <UsedLink text={invitation.failure.message}>
            If you have joined already, sign in. Otherwise ask an owner of your organization for a new invitation.
          </UsedLink>
        ) : (
          <Loaded data={invitation} what="the invitation">
            {({ email, name, role, organization }) => (
              <>
                <p>
                  You are invited to <strong>{organization}</strong> as {roleInWords(role).toLowerCase()}. You sign in
                  as {email}.
                </p>
                <AcceptForm api={api} token={token} email={email} name={name} onSignedIn={onSignedIn} />
              </>
            )}
          </Loaded>
        )}
      </Page>
    </main>
  );
}

interface UsedLinkProps {
  /** Why the link does not work. */
  readonly text: string;
  /** What to do next. */
  readonly children: ComponentChildren;
}

/** Shown for a link that no longer works. */
function UsedLink({ text, children }: UsedLinkProps) {
  return (
    <>
      <Notice kind="problem">{text}</Notice>
      <p>{children}</p>
      <button type="button" class="primary" onClick={() => go("/", { replace: true })}>
        Sign in
      </button>
    </>
  );
}

interface AcceptFormProps extends AcceptProps {
  readonly token: string;
  readonly email: string;
  readonly name: string;
}

function AcceptForm({ api, token, email, name: offered, onSignedIn }: AcceptFormProps) {
  const [name, setName] = useState(offered);
  const [password, setPassword] = useState("");
  const accept = useAction(async () => {
    const session = await api.people.acceptInvitation(token, name, password);
    go("/", { replace: true });
    onSignedIn(session);
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    accept.run();
  };
  return (
    <form class="card" onSubmit={submit}>
      <input type="hidden" name="username" autoComplete="username" value={email} />
      <Field label="Your name" error={accept.failure?.of("name") ?? null}>
        {(tied) => (
          <input
            {...tied}
            type="text"
            autoComplete="name"
            required
            maxLength={NAME_CHARACTERS}
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        )}
      </Field>
      <NewPasswordField
        label="Choose a password"
        value={password}
        onInput={setPassword}
        error={accept.failure?.of("password") ?? null}
      />
      <Problem failure={accept.failure} fields={["name", "password"]} />
      <button type="submit" class="primary" disabled={accept.busy}>
        {accept.busy ? "Joining…" : "Join"}
      </button>
    </form>
  );
}

/** The page of a recovery link: the person chooses a new password, and then signs in with it. */
export function RecoverPage({ api }: { readonly api: ConsoleApi }) {
  const [token] = useState(tokenInAddress);
  const [password, setPassword] = useState("");
  const [done, setDone] = useState(false);
  const recover = useAction(async () => {
    await api.people.completeRecovery(token, password);
    setDone(true);
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    recover.run();
  };
  return (
    <main class="alone">
      <p class="brand">kapi console</p>
      <Page title="Choose a new password">
        {recover.failure?.status === NOT_FOUND ? (
          <UsedLink text={recover.failure.message}>
            If you have already chosen a new password, sign in. Otherwise go to the sign-in page and ask for a new link.
          </UsedLink>
        ) : done ? (
          <>
            <Notice kind="good">Your password was changed, and all your sessions have ended.</Notice>
            <button type="button" class="primary" onClick={() => go("/", { replace: true })}>
              Sign in
            </button>
          </>
        ) : (
          <form class="card" onSubmit={submit}>
            <NewPasswordField
              label="New password"
              value={password}
              onInput={setPassword}
              error={recover.failure?.of("newPassword") ?? null}
            />
            <Problem failure={recover.failure} fields={["newPassword"]} />
            <button type="submit" class="primary" disabled={recover.busy}>
              {recover.busy ? "Changing…" : "Change password"}
            </button>
          </form>
        )}
      </Page>
    </main>
  );
}
