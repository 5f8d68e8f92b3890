import { useState } from "preact/hooks";

import { useApi, useSession } from "../api/context.ts";
import type { CreatedConsoleKeyAnswer, ListedConsoleKey } from "../api/shapes.ts";
import { counted, credits as whole } from "../format.ts";
import { ConfirmDialog } from "../parts/confirm-dialog.tsx";
import { Empty, Loaded, Notice } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { Permitted } from "../parts/permitted.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { useData } from "../parts/use-data.ts";
import { Moment, Nothing, State } from "../parts/values.tsx";
import { Link, part } from "../router.tsx";
import { CreateKey } from "./keys-create.tsx";
import { NewKey } from "./keys-new.tsx";

/** The management keys: create, list, revoke. */
export function KeysPage() {
  const api = useApi();
  const { apiUrl } = useSession();
  const keys = useData("keys", (signal) => api.keys(signal));
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<readonly CreatedConsoleKeyAnswer[]>([]);
  const [revoking, setRevoking] = useState<ListedConsoleKey | null>(null);
  const [revokedId, setRevokedId] = useState<string | null>(null);
  const show = (answer: CreatedConsoleKeyAnswer): void => {
    setCreating(false);
    setCreated((before) => [answer, ...before]);
    keys.reload();
  };
  const revoke = async (keyId: string): Promise<void> => {
    await api.revokeKey(keyId);
    setRevokedId(keyId);
    keys.reload();
  };
  const revoked = keys.value?.find(({ keyId, status }) => keyId === revokedId && status === "revoked");
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
      {created.map((answer) => (
        <NewKey
          key={answer.key.keyId}
          created={answer}
          onDone={() => setCreated((before) => before.filter((other) => other !== answer))}
        />
      ))}
      {revoked === undefined ? null : <Revoked revoked={revoked} />}
      <section class="card">
        <Loaded data={keys} what="the keys">
          {(list) =>
            list.length === 0 ? (
              <Empty>No keys yet. Create one to call the API.</Empty>
            ) : (
              <KeyTable keys={list} revoke={setRevoking} />
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
            Within two seconds, all requests with <strong>{revoking.name}</strong> (<code>{revoking.keyId}</code>) fail,
            and live connections with this key are closed. This cannot be undone.
          </p>
          <p>
            <LastUse of={revoking} />
          </p>
        </ConfirmDialog>
      )}
    </Page>
  );
}

/** Shown after a key was revoked: when the key was last used, and a link to its requests. */
function Revoked({ revoked }: { readonly revoked: ListedConsoleKey }) {
  return (
    <Notice kind="good">
      <strong>{revoked.name}</strong> is revoked. <LastUse of={revoked} />{" "}
      <Link to={requestsOf(revoked)}>Show the requests of this key</Link>
    </Notice>
  );
}

function LastUse({ of: { lastUse } }: { readonly of: ListedConsoleKey }) {
  if (lastUse === null) return <>No use of this key is known.</>;
  return (
    <>
      It was last used <Moment at={lastUse.at} />
      {lastUse.address === null ? null : ` from ${lastUse.address}`}.
    </>
  );
}

function requestsOf({ keyId }: ListedConsoleKey): string {
  return `/requests?actor=${part(keyId)}`;
}

interface KeyTableProps {
  readonly keys: readonly ListedConsoleKey[];
  readonly revoke: (key: ListedConsoleKey) => void;
}

function KeyTable({ keys, revoke }: KeyTableProps) {
  const api = useApi();
  const servers = useData("servers", (signal) => api.servers(signal));
  const nameOf = (serverId: string): string =>
    servers.value?.servers.find((server) => server.serverId === serverId)?.configuration.serverName ?? serverId;
  return <Table caption="Management keys" columns={columns(nameOf, revoke)} rows={keys} keyOf={({ keyId }) => keyId} />;
}

function columns(
  nameOf: (serverId: string) => string,
  revoke: (key: ListedConsoleKey) => void,
): readonly Column<ListedConsoleKey>[] {
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
    { head: "State", cell: ({ status }) => <State of={status} /> },
    { head: "Last use", cell: (key) => <LastUseCell of={key} /> },
    { head: "Scopes", cell: ({ scopes }) => <Chips of={scopes} /> },
    {
      head: "Limits",
      cell: ({ serverIds, rateLimit, allowedNetworks }) => (
        <>
          {serverIds === null ? "All servers" : <Chips of={serverIds.map(nameOf)} />}
          <span class="under">
            {rateLimit === null
              ? "No rate limit"
              : `${counted(rateLimit.perSecond, "request", "requests")} a second, ${whole(rateLimit.burst)} at once`}
          </span>
          <span class="under">{allowedNetworks?.join(", ") ?? "Any network"}</span>
        </>
      ),
    },
    {
      head: "Created and valid until",
      cell: ({ createdAt, expiresAt, revokedAt }) => (
        <>
          <Moment at={createdAt} />
          <span class="under">
            {revokedAt === null && expiresAt === null ? "never expires" : <Moment at={revokedAt ?? expiresAt} />}
          </span>
        </>
      ),
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

function LastUseCell({ of: key }: { readonly of: ListedConsoleKey }) {
  if (key.lastUse === null) return <span class="quiet">none known</span>;
  return (
    <>
      <Link to={requestsOf(key)}>
        <Moment at={key.lastUse.at} />
      </Link>
      <span class="under">{key.lastUse.address}</span>
    </>
  );
}

function Chips({ of: words }: { readonly of: readonly string[] }) {
  return (
    <ul class="chips">
      {words.map((word) => (
        <li key={word}>{word}</li>
      ))}
    </ul>
  );
}
