import { useEffect, useRef, useState } from "preact/hooks";

import { useApi, useSession } from "../api/context.ts";
import type { TwoFactorSecretAnswer } from "../api/shapes.ts";
import { Notice, Problem } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { CodeField, CurrentPasswordField } from "../parts/password-field.tsx";
import { useAction } from "../parts/use-data.ts";
import { Block, Copy } from "../parts/values.tsx";

const FEW_CODES = 3;

interface TwoFactorProps {
  /** Reads the session again after a change. */
  readonly onChanged: () => Promise<void>;
}

/**
 * Shown in place of every page while the person lacks the second factor that the organization
 * requires.
 */
export function EnrolPage({ onChanged }: TwoFactorProps) {
  return (
    <Page title="Set up two-factor authentication" focused>
      <p>Your organization requires it. You need an authenticator app on your phone.</p>
      <section class="card narrow">
        <Enrol onDone={onChanged} />
      </section>
    </Page>
  );
}

/** Two-factor authentication in the profile. */
export function TwoFactorSection({ onChanged }: TwoFactorProps) {
  const { twoFactor } = useSession();
  return (
    <section class="card narrow">
      <h2>Two-factor authentication</h2>
      {twoFactor.enabled ? (
        <Enabled left={twoFactor.recoveryCodesLeft} onChanged={onChanged} />
      ) : (
        <>
          <p>It is off. When it is on, you sign in with your password and a code of an app on your phone.</p>
          <Enrol onDone={onChanged} />
        </>
      )}
    </section>
  );
}

function Enrol({ onDone }: { readonly onDone: () => Promise<void> }) {
  const { people } = useApi();
  const [password, setPassword] = useState("");
  const [secret, setSecret] = useState<TwoFactorSecretAnswer | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const begin = useAction(async () => {
    setSecret(await people.beginTwoFactor(password));
    setPassword("");
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    begin.run();
  };
  if (codes !== null) return <RecoveryCodes codes={codes} onDone={onDone} />;
  if (secret !== null) return <ConfirmSecret secret={secret} onConfirmed={setCodes} />;
  return (
    <form onSubmit={submit}>
      <CurrentPasswordField
        label="Your password"
        value={password}
        onInput={setPassword}
        error={begin.failure?.of("currentPassword") ?? null}
      />
      <Problem failure={begin.failure} fields={["currentPassword"]} />
      <button type="submit" class="primary" disabled={begin.busy}>
        {begin.busy ? "Working…" : "Set up"}
      </button>
    </form>
  );
}

interface ConfirmSecretProps {
  readonly secret: TwoFactorSecretAnswer;
  readonly onConfirmed: (codes: readonly string[]) => void;
}

function ConfirmSecret({ secret, onConfirmed }: ConfirmSecretProps) {
  const { people } = useApi();
  const [code, setCode] = useState("");
  const confirm = useAction(async () => onConfirmed(await people.confirmTwoFactor(code)));
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    confirm.run();
  };
  return (
    <form onSubmit={submit}>
      <p>Scan this code with your authenticator app, or enter the secret there.</p>
      <img class="qr" src={secret.qr} alt="QR code of the secret" width={200} height={200} />
      <Block text={secret.secret} label="The secret" wraps />
      <Copy text={secret.secret} what="the secret" />
      <CodeField
        label="Code of the app"
        value={code}
        onInput={setCode}
        error={confirm.failure?.of("code") ?? null}
        recovery={false}
      />
      <Problem failure={confirm.failure} fields={["code"]} />
      <button type="submit" class="primary" disabled={confirm.busy}>
        {confirm.busy ? "Checking…" : "Turn on"}
      </button>
    </form>
  );
}

interface RecoveryCodesProps {
  readonly codes: readonly string[];
  readonly onDone: () => Promise<void>;
}

/** Recovery codes, shown once. */
function RecoveryCodes({ codes, onDone }: RecoveryCodesProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const done = useAction(onDone);
  const text = codes.join("\n");
  return (
    <>
      <h3 ref={heading} tabIndex={-1}>
        Your recovery codes
      </h3>
      <p>
        <strong>You won't be able to see these codes again.</strong> Without your phone, you sign in with your password
        and one of these codes. Each code works once. Store the codes where you store passwords.
      </p>
      <Block text={text} label="Recovery codes" />
      <Copy text={text} what="the codes" />
      <Problem failure={done.failure} />
      <div class="buttons">
        <button type="button" class="primary" disabled={done.busy} onClick={done.run}>
          I have stored the codes
        </button>
      </div>
    </>
  );
}

interface EnabledProps extends TwoFactorProps {
  readonly left: number;
}

function Enabled({ left, onChanged }: EnabledProps) {
  const { people } = useApi();
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const clear = (): void => {
    setPassword("");
    setCode("");
  };
  const replace = useAction(async () => {
    setCodes(await people.replaceRecoveryCodes({ currentPassword: password, code }));
    clear();
  });
  const disable = useAction(async () => {
    await people.disableTwoFactor({ currentPassword: password, code });
    clear();
    await onChanged();
  });
  const [isDisabling, setIsDisabling] = useState(false);
  const { failure } = isDisabling ? disable : replace;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const disables = event.submitter?.getAttribute("value") === "disable";
    setIsDisabling(disables);
    if (disables) disable.run();
    else replace.run();
  };
  if (codes !== null) {
    const stored = async (): Promise<void> => {
      await onChanged();
      setCodes(null);
    };
    return <RecoveryCodes codes={codes} onDone={stored} />;
  }
  return (
    <form onSubmit={submit}>
      <p>
        It is on. You have {left} recovery {left === 1 ? "code" : "codes"} left.
      </p>
      {left < FEW_CODES ? (
        <Notice kind="warning">Replace your recovery codes before you run out of them.</Notice>
      ) : null}
      <CurrentPasswordField
        label="Your password"
        value={password}
        onInput={setPassword}
        error={failure?.of("currentPassword") ?? null}
      />
      <CodeField label="Code" value={code} onInput={setCode} error={failure?.of("code") ?? null} />
      <Problem failure={failure} fields={["currentPassword", "code"]} />
      <div class="buttons">
        <button type="submit" disabled={replace.busy || disable.busy}>
          Replace recovery codes
        </button>
        <button type="submit" class="danger" value="disable" disabled={replace.busy || disable.busy}>
          Turn off
        </button>
      </div>
    </form>
  );
}
