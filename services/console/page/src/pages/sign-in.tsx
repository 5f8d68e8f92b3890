import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { streamAddress } from "../api/client.ts";
import type { ConsoleApi } from "../api/console-api.ts";
import type { ConsoleSession, SignInOptions } from "../api/shapes.ts";
import { Field } from "../parts/field.tsx";
import { Loaded, Notice, Problem } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { CodeField, CurrentPasswordField } from "../parts/password-field.tsx";
import { type Data, useAction, useData } from "../parts/use-data.ts";

interface SignInProps {
  readonly api: ConsoleApi;
  /** Whether the sign-in is shown because a session has ended. */
  readonly ended: boolean;
  readonly onSignedIn: (session: ConsoleSession) => void;
}

/** Why the provider's sign-in failed, by the value of `sign-in` in the address. */
const PROVIDER_PROBLEMS: Readonly<Record<string, string>> = {
  failed: "The sign-in at your provider failed. Try again, or sign in with your password.",
  expired: "The sign-in at your provider took too long. Try again.",
  unknown:
    "No user of this console has the e-mail address that your provider has verified for you. Ask an owner of your organization to invite you.",
};

/**
 * The sign-in form, shown at the requested address. After the sign-in, the requested page appears.
 */
export function SignInPage({ api, ended, onSignedIn }: SignInProps) {
  const options = useData("sign-in", (signal) => api.people.signInOptions(signal));
  const [step, setStep] = useState<"password" | "code" | "forgotten">("password");
  const isCode = step === "code" || (step === "password" && options.value?.secondFactorPending === true);
  const again = (): void => {
    if (options.value !== null) options.set({ ...options.value, secondFactorPending: false });
    setStep("password");
  };
  if (isCode) return <CodeStep api={api} onSignedIn={onSignedIn} onBack={again} />;
  if (step === "forgotten") return <Forgotten api={api} options={options} onBack={() => setStep("password")} />;
  return (
    <PasswordStep
      api={api}
      ended={ended}
      options={options}
      onSignedIn={onSignedIn}
      onCode={() => setStep("code")}
      onForgotten={() => setStep("forgotten")}
    />
  );
}

interface PasswordStepProps extends SignInProps {
  readonly options: Data<SignInOptions>;
  readonly onCode: () => void;
  readonly onForgotten: () => void;
}

function PasswordStep({ api, ended, options, onSignedIn, onCode, onForgotten }: PasswordStepProps) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const problem = PROVIDER_PROBLEMS[new URLSearchParams(location.search).get("sign-in") ?? ""];
  const signIn = useAction(async () => {
    const session = await api.people.signIn(email, password);
    if (session === null) onCode();
    else onSignedIn(session);
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    signIn.run();
  };
  return (
    <main class="alone">
      <p class="brand">kapi console</p>
      <Page title="Sign in">
        {ended ? <Notice kind="warning">Your session has ended. Sign in again to continue.</Notice> : null}
        {problem === undefined ? null : <Notice kind="problem">{problem}</Notice>}
        <form class="card" onSubmit={submit}>
          <EmailField value={email} onInput={setEmail} />
          <CurrentPasswordField label="Password" value={password} onInput={setPassword} error={null} />
          <Problem failure={signIn.failure} />
          <div class="buttons">
            <button type="submit" class="primary" disabled={signIn.busy}>
              {signIn.busy ? "Signing in…" : "Sign in"}
            </button>
            <button type="button" class="plain" onClick={onForgotten}>
              Forgot your password?
            </button>
          </div>
        </form>
        <Loaded data={options} what="the other ways to sign in" lines={1}>
          {({ provider }) =>
            provider === null ? null : (
              <p>
                <a class="button" href={streamAddress("/sign-in/provider")}>
                  Sign in with {provider.name}
                </a>
              </p>
            )
          }
        </Loaded>
      </Page>
    </main>
  );
}

interface CodeStepProps {
  readonly api: ConsoleApi;
  readonly onSignedIn: (session: ConsoleSession) => void;
  readonly onBack: () => void;
}

function CodeStep({ api, onSignedIn, onBack }: CodeStepProps) {
  const [code, setCode] = useState("");
  const complete = useAction(async () => onSignedIn(await api.people.completeSignIn(code)));
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    complete.run();
  };
  return (
    <main class="alone">
      <p class="brand">kapi console</p>
      <Page title="Enter your code" focused>
        <form class="card" onSubmit={submit}>
          <p>One step is left. Enter a code within 5 minutes.</p>
          <CodeField label="Code" value={code} onInput={setCode} error={complete.failure?.of("code") ?? null} />
          <Problem failure={complete.failure} fields={["code"]} />
          <div class="buttons">
            <button type="submit" class="primary" disabled={complete.busy}>
              {complete.busy ? "Signing in…" : "Continue"}
            </button>
            <button type="button" class="plain" onClick={onBack}>
              Back
            </button>
          </div>
          <p class="quiet">
            Without your phone and your recovery codes, ask an owner of your organization to reset your two-factor
            authentication.
          </p>
        </form>
      </Page>
    </main>
  );
}

interface ForgottenProps {
  readonly api: ConsoleApi;
  readonly options: Data<SignInOptions>;
  readonly onBack: () => void;
}

function Forgotten({ api, options, onBack }: ForgottenProps) {
  const back = (
    <button type="button" class="plain" onClick={onBack}>
      Back
    </button>
  );
  return (
    <main class="alone">
      <p class="brand">kapi console</p>
      <Page title="Forgotten password" focused>
        <Loaded data={options} what="the ways to set a new password">
          {({ passwordRecovery }) =>
            passwordRecovery ? <RecoveryForm api={api} back={back} /> : <NoMail back={back} />
          }
        </Loaded>
        {options.value === null ? <p>{back}</p> : null}
      </Page>
    </main>
  );
}

interface RecoveryProps {
  readonly api: ConsoleApi;
  /** The button that leads back to the password. */
  readonly back: ComponentChildren;
}

function RecoveryForm({ api, back }: RecoveryProps) {
  const [email, setEmail] = useState("");
  const [sent, setSent] = useState(false);
  const recover = useAction(async () => {
    await api.people.recoverPassword(email);
    setSent(true);
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    recover.run();
  };
  return (
    <form class="card" onSubmit={submit}>
      <p>We send a link to your e-mail address. It works once, for one hour.</p>
      <EmailField value={email} onInput={setEmail} />
      <Problem failure={recover.failure} />
      {sent ? (
        <Notice kind="good">
          If this address belongs to a user of this console, a link is on its way. Check your mail.
        </Notice>
      ) : null}
      <div class="buttons">
        <button type="submit" class="primary" disabled={recover.busy}>
          {recover.busy ? "Sending…" : "Send the link"}
        </button>
        {back}
      </div>
    </form>
  );
}

function NoMail({ back }: Pick<RecoveryProps, "back">) {
  return (
    <div class="card">
      <p>
        This console sends no mail. Ask the operator of your installation of kapi to reset your password with{" "}
        <code>kapi admin user reset-password</code>.
      </p>
      {back}
    </div>
  );
}

function EmailField({ value, onInput }: { readonly value: string; readonly onInput: (value: string) => void }) {
  return (
    <Field label="E-mail">
      {(tied) => (
        <input
          {...tied}
          type="email"
          autoComplete="username"
          required
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )}
    </Field>
  );
}
