import { useApi } from "../api/context.ts";
import type { ConsoleSession, ConsoleSessionEntry } from "../api/shapes.ts";
import { Loaded, Problem } from "../parts/notice.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { type Data, useAction, useData } from "../parts/use-data.ts";
import { Moment, Nothing } from "../parts/values.tsx";
import { browserInWords } from "./browser-words.ts";

interface OwnSessionsProps {
  readonly onNewSession: (session: ConsoleSession) => void;
}

/** The sessions of the signed-in person, in the profile. */
export function OwnSessions({ onNewSession }: OwnSessionsProps) {
  const { people } = useApi();
  const sessions = useData("sessions", (signal) => people.sessions(signal));
  const endOthers = useAction(async () => {
    onNewSession(await people.endOtherSessions());
    sessions.reload();
  });
  return (
    <section class="card">
      <h2>Your sessions</h2>
      <p>Where you are signed in. If you do not recognize a session, end it and change your password.</p>
      <Loaded data={sessions} what="your sessions">
        {(list) => (
          <>
            <Table caption="Your sessions" columns={columns(sessions)} rows={list} keyOf={({ id }) => id} />
            <Problem failure={endOthers.failure} />
            <div class="buttons">
              <button type="button" disabled={endOthers.busy || list.length < 2} onClick={endOthers.run}>
                End all other sessions
              </button>
            </div>
          </>
        )}
      </Loaded>
    </section>
  );
}

function columns(sessions: Data<ConsoleSessionEntry[]>): readonly Column<ConsoleSessionEntry>[] {
  return [
    { head: "Browser", cell: ({ userAgent }) => browserInWords(userAgent) ?? <Nothing /> },
    { head: "Network address", cell: ({ address }) => address ?? <Nothing /> },
    { head: "Signed in", cell: ({ createdAt }) => <Moment at={createdAt} /> },
    { head: "Last used", cell: ({ lastUsedAt }) => <Moment at={lastUsedAt} /> },
    {
      head: "Actions",
      hiddenHead: true,
      cell: (session) => <EndSession session={session} sessions={sessions} />,
    },
  ];
}

interface EndSessionProps {
  readonly session: ConsoleSessionEntry;
  readonly sessions: Data<ConsoleSessionEntry[]>;
}

function EndSession({ session, sessions }: EndSessionProps) {
  const { people } = useApi();
  const end = useAction(async () => {
    await people.endSession(session.id);
    sessions.reload();
  });
  if (session.current) return <span class="quiet">this session</span>;
  return (
    <>
      <button
        type="button"
        disabled={end.busy}
        aria-label={`End the session in ${browserInWords(session.userAgent) ?? "an unknown browser"}`}
        onClick={end.run}
      >
        End
      </button>
      <Problem failure={end.failure} />
    </>
  );
}
