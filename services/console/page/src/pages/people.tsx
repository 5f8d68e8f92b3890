import { useState } from "preact/hooks";

import { useApi, useSession } from "../api/context.ts";
import type { ConsoleInvitation, ConsolePeopleAnswer, ConsolePerson } from "../api/shapes.ts";
import { ConfirmDialog } from "../parts/confirm-dialog.tsx";
import { pageIn } from "../parts/filter.ts";
import { Loaded, Problem } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { Permitted } from "../parts/permitted.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { useAction, useData } from "../parts/use-data.ts";
import { Moment, State } from "../parts/values.tsx";
import { go } from "../router.tsx";
import { ChangeRole, InvitePerson, NewInvitation, type Invited } from "./people-dialogs.tsx";
import { roleInWords } from "./role-words.ts";

const PEOPLE_A_PAGE = 50;

type Asked =
  | { readonly what: "invite" }
  | { readonly what: "role" | "disable" | "end-sessions" | "reset-two-factor"; readonly person: ConsolePerson }
  | { readonly what: "cancel"; readonly invitation: ConsoleInvitation };

/** The people of the organization, their roles, and open invitations. */
export function PeoplePage({ query }: { readonly query: URLSearchParams }) {
  const api = useApi();
  const page = pageIn(query);
  const people = useData(`people ${page}`, (signal) => api.people.people(page, PEOPLE_A_PAGE, signal));
  const [asked, setAsked] = useState<Asked | null>(null);
  const [invited, setInvited] = useState<Invited | null>(null);
  const close = (): void => setAsked(null);
  const show = (answer: Invited): void => {
    close();
    setInvited(answer);
    people.reload();
  };
  return (
    <Page
      title="People"
      actions={
        <Permitted to="people:manage">
          <button type="button" class="primary" onClick={() => setAsked({ what: "invite" })}>
            Invite a person
          </button>
        </Permitted>
      }
    >
      <p>Who may sign in to this console, and what they may do. A changed role applies to the person's next request.</p>
      {invited === null ? null : <NewInvitation invited={invited} onDone={() => setInvited(null)} />}
      <Loaded data={people} what="the people">
        {(answer) => (
          <>
            <section class="card">
              <Table caption="People" columns={peopleColumns(setAsked)} rows={answer.people} keyOf={({ id }) => id} />
              <Pager
                pagination={answer.pagination}
                what={["person", "people"]}
                go={(next) => go(`/people?page=${next}`)}
              />
            </section>
            <Invitations invitations={answer.invitations} ask={setAsked} />
            <Requirement answer={answer} reload={people.reload} />
          </>
        )}
      </Loaded>
      {asked === null ? null : <AskedDialog asked={asked} onInvited={show} onChanged={people.reload} onClose={close} />}
    </Page>
  );
}

interface AskedProps {
  readonly asked: Asked;
  readonly onInvited: (invited: Invited) => void;
  readonly onChanged: () => void;
  readonly onClose: () => void;
}

/** Texts of dialogs that only confirm a change of a person. `text` follows the person's name. */
const CHANGES = {
  disable: {
    title: "Disable this person?",
    confirm: "Disable person",
    text: "is signed out, and can never sign in again. This cannot be undone.",
  },
  "end-sessions": {
    title: "End all sessions of this person?",
    confirm: "End sessions",
    text: "is signed out on all devices within two seconds, and can sign in again.",
  },
  "reset-two-factor": {
    title: "Reset two-factor authentication?",
    confirm: "Reset two-factor",
    text: "is signed out, and signs in with the password alone until they set up two-factor authentication again. Make sure that the person who asks you is really this person.",
  },
} as const;

function AskedDialog({ asked, onInvited, onChanged, onClose }: AskedProps) {
  const { people } = useApi();
  const changed = async (work: Promise<void>): Promise<void> => {
    await work;
    onChanged();
  };
  if (asked.what === "invite") return <InvitePerson onInvited={onInvited} onClose={onClose} />;
  if (asked.what === "role") {
    const change = (role: ConsolePerson["role"]): Promise<void> => changed(people.changeRole(asked.person.id, role));
    return <ChangeRole person={asked.person} change={change} onClose={onClose} />;
  }
  if (asked.what === "cancel") {
    const { invitation } = asked;
    return (
      <ConfirmDialog
        title="Cancel this invitation?"
        confirm="Cancel invitation"
        dangerous
        work={() => changed(people.cancelInvitation(invitation))}
        onClose={onClose}
      >
        <p>
          The link of <strong>{invitation.email}</strong> stops working.
        </p>
      </ConfirmDialog>
    );
  }
  const { title, confirm, text } = CHANGES[asked.what];
  const { person, what } = asked;
  return (
    <ConfirmDialog
      title={title}
      confirm={confirm}
      dangerous
      work={() => changed(people.changePerson(person.id, what))}
      onClose={onClose}
    >
      <p>
        <strong>{person.name}</strong> ({person.email}) {text}
      </p>
    </ConfirmDialog>
  );
}

function peopleColumns(ask: (asked: Asked) => void): readonly Column<ConsolePerson>[] {
  return [
    {
      head: "Person",
      cell: ({ name, email }) => (
        <>
          {name}
          <span class="under">{email}</span>
        </>
      ),
    },
    { head: "Role", cell: ({ role }) => roleInWords(role) },
    { head: "State", cell: ({ disabledAt }) => <State of={disabledAt === null ? "active" : "disabled"} /> },
    { head: "Two-factor", cell: ({ twoFactor }) => (twoFactor ? "on" : "off") },
    {
      head: "Last sign-in",
      cell: ({ lastSignInAt }) => (lastSignInAt === null ? "never" : <Moment at={lastSignInAt} />),
    },
    { head: "Actions", hiddenHead: true, cell: (person) => <PersonActions person={person} ask={ask} /> },
  ];
}

function PersonActions({ person, ask }: { readonly person: ConsolePerson; readonly ask: (asked: Asked) => void }) {
  const { user } = useSession();
  if (person.id === user.id) return <span class="quiet">you</span>;
  if (person.disabledAt !== null) return null;
  const actions = [
    ["role", "Change role"],
    ["end-sessions", "End sessions"],
    ...(person.twoFactor ? [["reset-two-factor", "Reset two-factor"] as const] : []),
    ["disable", "Disable"],
  ] as const;
  return (
    <span class="row-actions">
      {actions.map(([what, title]) => (
        <button
          key={what}
          type="button"
          class={what === "disable" ? "danger" : undefined}
          aria-label={`${title}: ${person.name}`}
          onClick={() => ask({ what, person })}
        >
          {title}
        </button>
      ))}
    </span>
  );
}

interface InvitationsProps {
  readonly invitations: readonly ConsoleInvitation[];
  readonly ask: (asked: Asked) => void;
}

function Invitations({ invitations, ask }: InvitationsProps) {
  if (invitations.length === 0) return null;
  return (
    <section class="card">
      <h2>Open invitations</h2>
      <Table caption="Open invitations" columns={invitationColumns(ask)} rows={invitations} keyOf={({ id }) => id} />
    </section>
  );
}

function invitationColumns(ask: (asked: Asked) => void): readonly Column<ConsoleInvitation>[] {
  return [
    {
      head: "Person",
      cell: ({ name, email }) => (
        <>
          {name}
          <span class="under">{email}</span>
        </>
      ),
    },
    { head: "Role", cell: ({ role }) => roleInWords(role) },
    { head: "Invited", cell: ({ createdAt }) => <Moment at={createdAt} /> },
    { head: "Expires", cell: ({ expiresAt }) => <Moment at={expiresAt} /> },
    {
      head: "Actions",
      hiddenHead: true,
      cell: (invitation) => (
        <button
          type="button"
          class="danger"
          aria-label={`Cancel the invitation of ${invitation.name}`}
          onClick={() => ask({ what: "cancel", invitation })}
        >
          Cancel
        </button>
      ),
    },
  ];
}

interface RequirementProps {
  readonly answer: ConsolePeopleAnswer;
  readonly reload: () => void;
}

function Requirement({ answer: { requireTwoFactor }, reload }: RequirementProps) {
  const api = useApi();
  const change = useAction(async () => {
    await api.people.requireTwoFactor(!requireTwoFactor);
    reload();
  });
  return (
    <section class="card narrow">
      <h2>Two-factor authentication</h2>
      <p>
        {requireTwoFactor
          ? "Everybody must use it. People who have not set it up must do so before they see anything else."
          : "Everybody may use it. If you require it, people who have not set it up must do so before they see anything else."}
      </p>
      <Problem failure={change.failure} />
      <button type="button" disabled={change.busy} onClick={change.run}>
        {requireTwoFactor ? "Stop requiring it" : "Require it of everybody"}
      </button>
    </section>
  );
}
