import { useEffect, useId, useRef, useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import type { ConsolePerson, ConsoleRole, InvitedPersonAnswer } from "../api/shapes.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { Problem } from "../parts/notice.tsx";
import { useAction } from "../parts/use-data.ts";
import { Block, Copy, Moment } from "../parts/values.tsx";
import { ROLES } from "./role-words.ts";

const NAME_CHARACTERS = 100;
const EMAIL_CHARACTERS = 254;
const FIRST_ROLE: ConsoleRole = "read_only";

export type Invited = InvitedPersonAnswer;

interface InvitePersonProps {
  readonly onInvited: (invited: Invited) => void;
  readonly onClose: () => void;
}

/** Dialog that invites a person. */
export function InvitePerson({ onInvited, onClose }: InvitePersonProps) {
  const api = useApi();
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState(FIRST_ROLE);
  const invite = useAction(async () => onInvited(await api.people.invite({ email, name, role })));
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    invite.run();
  };
  return (
    <Dialog title="Invite a person" onClose={onClose} busy={invite.busy}>
      <form onSubmit={submit}>
        <Field label="E-mail" error={invite.failure?.of("email") ?? null}>
          {(tied) => (
            <input
              {...tied}
              type="email"
              required
              maxLength={EMAIL_CHARACTERS}
              autoComplete="off"
              value={email}
              onInput={({ currentTarget }) => setEmail(currentTarget.value)}
            />
          )}
        </Field>
        <Field label="Name" error={invite.failure?.of("name") ?? null}>
          {(tied) => (
            <input
              {...tied}
              type="text"
              required
              maxLength={NAME_CHARACTERS}
              autoComplete="off"
              value={name}
              onInput={({ currentTarget }) => setName(currentTarget.value)}
            />
          )}
        </Field>
        <RoleChoice role={role} choose={setRole} />
        <Problem failure={invite.failure} fields={["email", "name"]} />
        <div class="buttons">
          <button type="submit" class="primary" disabled={invite.busy}>
            {invite.busy ? "Inviting…" : "Invite"}
          </button>
          <button type="button" disabled={invite.busy} onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface NewInvitationProps {
  readonly invited: Invited;
  readonly onDone: () => void;
}

/**
 * A new invitation: its link, which is shown once, or the note that a mail with the link was sent.
 */
export function NewInvitation({ invited: { invitation, token }, onDone }: NewInvitationProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const link = token === null ? null : `${location.origin}/console/accept#${token}`;
  return (
    <section class="card new-key">
      <h2 ref={heading} tabIndex={-1}>
        Invitation of {invitation.name}
      </h2>
      {link === null ? (
        <p>The link was sent to {invitation.email}.</p>
      ) : (
        <>
          <p>
            <strong>You won't be able to see this link again.</strong> No mail was sent: give the link to{" "}
            {invitation.email} yourself, in private.
          </p>
          <Block text={link} label="The link" wraps />
          <Copy text={link} what="the link" />
        </>
      )}
      <p>
        The link works once, until <Moment at={invitation.expiresAt} />.
      </p>
      <div class="buttons">
        <button type="button" class="primary" onClick={onDone}>
          Done
        </button>
      </div>
    </section>
  );
}

interface ChangeRoleProps {
  readonly person: ConsolePerson;
  readonly change: (role: ConsoleRole) => Promise<void>;
  readonly onClose: () => void;
}

/** Dialog that changes the role of a person. */
export function ChangeRole({ person, change, onClose }: ChangeRoleProps) {
  const [role, setRole] = useState(person.role);
  const action = useAction(async () => {
    await change(role);
    onClose();
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    action.run();
  };
  return (
    <Dialog title={`Change the role of ${person.name}`} onClose={onClose} busy={action.busy}>
      <form onSubmit={submit}>
        <RoleChoice role={role} choose={setRole} />
        <Problem failure={action.failure} />
        <div class="buttons">
          <button type="submit" class="primary" disabled={action.busy || role === person.role}>
            {action.busy ? "Changing…" : "Change role"}
          </button>
          <button type="button" disabled={action.busy} onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface RoleChoiceProps {
  readonly role: ConsoleRole;
  readonly choose: (role: ConsoleRole) => void;
}

function RoleChoice({ role, choose }: RoleChoiceProps) {
  const id = useId();
  return (
    <fieldset>
      <legend>Role</legend>
      {ROLES.map(([one, name, description]) => (
        <label key={one} class="check">
          <input type="radio" name={id} checked={role === one} onChange={() => choose(one)} />
          {name}
          <span class="hint">{description}</span>
        </label>
      ))}
    </fieldset>
  );
}
