import { useState } from "preact/hooks";

import { useApi, useSession } from "../api/context.ts";
import type { ConsoleKey, CreatedConsoleKeyAnswer } from "../api/shapes.ts";
import { ConfirmDialog } from "../parts/confirm-dialog.tsx";
import { Loaded } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { Permitted } from "../parts/permitted.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { useData } from "../parts/use-data.ts";
import { Moment, Nothing, State } from "../parts/values.tsx";
import { CreateKey } from "./keys-create.tsx";
import { NewKey } from "./keys-new.tsx";

/** The management keys: create, list, revoke. */
export function KeysPage() {
  const api = useApi();
  const { apiUrl } = useSession();
  const keys = useData("keys", (signal) => api.keys(signal));
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedConsoleKeyAnswer | null>(null);
  const [revoking, setRevoking] = useState<ConsoleKey | null>(null);
  const show = (answer: CreatedConsoleKeyAnswer): void => {
    setCreating(false);
    setCreated(answer);
    keys.reload();
  };
  const revoke = async (keyId: string): Promise<void> => {
    await api.revokeKey(keyId);
    keys.reload();
  };
  return (
    <Page
      title="Management keys"
      actions={
        <Permitted to="keys:manage">
          <button type="button" class="primary" onClick={() => setCreating(true)}>
            Create a key
          </button>
        </Permitted>
      }
    >
      <p>
        Your backend uses a management key to call the API at <code>{apiUrl}</code>. A key created here can access all
        servers of the organization, within its scopes. Keep keys on trusted servers only.
      </p>
      {created === null ? null : <NewKey created={created} onDone={() => setCreated(null)} />}
      <section class="card">
        <Loaded data={keys} what="the keys">
          {(list) =>
            list.length === 0 ? (
              <p class="quiet">No keys yet. Create one to call the API.</p>
            ) : (
              <Table
                caption="Management keys"
                columns={columns(setRevoking)}
                rows={list}
                keyOf={({ keyId }) => keyId}
              />
            )
          }
        </Loaded>
      </section>
      {creating ? <CreateKey onCreated={show} onClose={() => setCreating(false)} /> : null}
      {revoking === null ? null : (
        <ConfirmDialog
          title="Revoke this key?"
          confirm="Revoke key"
          dangerous
          work={() => revoke(revoking.keyId)}
          onClose={() => setRevoking(null)}
        >
          <p>
            Requests with <strong>{revoking.name}</strong> (<code>{revoking.keyId}</code>) fail within two seconds, and
            its live connections are closed. This cannot be undone.
          </p>
        </ConfirmDialog>
      )}
    </Page>
  );
}

function columns(revoke: (key: ConsoleKey) => void): readonly Column<ConsoleKey>[] {
  return [
    {
      head: "Name and id",
      cell: ({ name, keyId }) => (
        <>
          {name === "" ? <Nothing /> : name}
          <code class="whole under">{keyId}</code>
        </>
      ),
    },
    { head: "Scopes", cell: ({ scopes }) => <Scopes scopes={scopes} /> },
    { head: "Servers", cell: ({ serverIds }) => (serverIds === null ? "all" : String(serverIds.length)) },
    { head: "State", cell: ({ status }) => <State of={status} /> },
    { head: "Created", cell: ({ createdAt }) => <Moment at={createdAt} /> },
    {
      head: "Ends",
      cell: ({ expiresAt, revokedAt }) =>
        revokedAt === null && expiresAt === null ? "never" : <Moment at={revokedAt ?? expiresAt} />,
    },
    {
      head: "Actions",
      hiddenHead: true,
      cell: (key) =>
        key.status === "active" ? (
          <Permitted to="keys:manage">
            <button type="button" class="danger" aria-label={`Revoke ${key.name}`} onClick={() => revoke(key)}>
              Revoke
            </button>
          </Permitted>
        ) : null,
    },
  ];
}

function Scopes({ scopes }: { readonly scopes: readonly string[] }) {
  return (
    <ul class="chips">
      {scopes.map((scope) => (
        <li key={scope}>{scope}</li>
      ))}
    </ul>
  );
}
