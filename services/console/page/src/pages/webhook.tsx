import { useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import type { WebhookDisabledReason, WebhookEndpoint, WebhookSecret, WebhookSettings } from "../api/shapes.ts";
import { ConfirmDialog } from "../parts/confirm-dialog.tsx";
import { Loaded, Notice, Problem } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { Permitted } from "../parts/permitted.tsx";
import { useAction, useData } from "../parts/use-data.ts";
import { Detail, DetailList, Moment, Nothing, State } from "../parts/values.tsx";
import { go, Link } from "../router.tsx";
import { Deliveries } from "./webhook-deliveries.tsx";
import { EndpointForm } from "./webhook-form.tsx";
import { Replay } from "./webhook-replay.tsx";
import { NewSecret } from "./webhook-secret.tsx";

const LIST = "/webhooks";

/** Why an endpoint is disabled. */
const REASONS: Readonly<Record<WebhookDisabledReason, string>> = {
  owner: "This endpoint was disabled here or through the API. It gets no events until you enable it.",
  gone: "This endpoint was disabled because it responded with 410 Gone. Enable it when it is ready to receive events.",
  failing:
    "This endpoint was disabled because all attempts failed for five days. Enable it when it is ready to receive events.",
};

type Opened = "change" | "switch" | "rotate" | "replay" | "delete" | null;

interface WebhookProps {
  readonly endpointId: string;
  readonly query: URLSearchParams;
}

/** One endpoint: its details, actions and deliveries. */
export function WebhookPage({ endpointId, query }: WebhookProps) {
  const api = useApi();
  const endpoint = useData("webhook", (signal) => api.webhook(endpointId, signal));
  return (
    <Page title="Webhook endpoint">
      <p>
        <Link to={LIST}>All endpoints</Link>
      </p>
      <Loaded data={endpoint} what="the endpoint">
        {(value) => <EndpointView endpoint={value} query={query} onChanged={endpoint.set} />}
      </Loaded>
    </Page>
  );
}

interface ViewProps {
  readonly endpoint: WebhookEndpoint;
  readonly query: URLSearchParams;
  readonly onChanged: (endpoint: WebhookEndpoint) => void;
}

function EndpointView({ endpoint, query, onChanged }: ViewProps) {
  const api = useApi();
  const [opened, open] = useState<Opened>(null);
  const [secret, setSecret] = useState<WebhookSecret | null>(null);
  /** Number of tests and replays that this page has sent. A change reloads the deliveries. */
  const [sent, setSent] = useState(0);
  const [message, setMessage] = useState("");
  const showMessage = (text: string): void => {
    setMessage(text);
    setSent(sent + 1);
  };
  const test = useAction(async () => {
    setMessage("");
    await api.testWebhook(endpoint.id);
    showMessage("Test event sent. See the newest delivery below.");
  });
  const disabled = endpoint.status === "disabled";
  return (
    <>
      <Trouble endpoint={endpoint} />
      {secret === null ? null : <NewSecret given={secret} rotated onDone={() => setSecret(null)} />}
      <section class="card">
        <EndpointDetails endpoint={endpoint} />
        <Permitted to="webhooks:manage">
          <div class="buttons">
            <button type="button" class="primary" disabled={disabled || test.busy} onClick={test.run}>
              {test.busy ? "Sending…" : "Send test event"}
            </button>
            <button type="button" disabled={disabled} onClick={() => open("replay")}>
              Replay
            </button>
            <button type="button" onClick={() => open("change")}>
              Edit
            </button>
            <button type="button" onClick={() => open("rotate")}>
              Rotate secret
            </button>
            <button type="button" onClick={() => open("switch")}>
              {disabled ? "Enable" : "Disable"}
            </button>
            <button type="button" class="danger" onClick={() => open("delete")}>
              Delete
            </button>
          </div>
        </Permitted>
        <Problem failure={test.failure} />
        <p role="status" class="status-message">
          {message}
        </p>
      </section>
      <Deliveries endpoint={endpoint} query={query} round={sent} />
      <Dialogs
        endpoint={endpoint}
        opened={opened}
        onClose={() => open(null)}
        onChanged={onChanged}
        onRotated={setSecret}
        onReplayed={showMessage}
      />
    </>
  );
}

/** A problem that the endpoint's owner must solve. */
function Trouble({ endpoint: { disabledReason, failingSince } }: Pick<ViewProps, "endpoint">) {
  if (disabledReason !== null) return <Notice kind="warning">{REASONS[disabledReason]}</Notice>;
  // A service of the previous release does not send this field.
  if (!failingSince) return null;
  return (
    <Notice kind="warning">
      All attempts since <Moment at={failingSince} /> have failed. See the deliveries below. The endpoint will be
      disabled after five days of failures.
    </Notice>
  );
}

function EndpointDetails({ endpoint }: Pick<ViewProps, "endpoint">) {
  const api = useApi();
  const { url, description, kinds, serverIds, status } = endpoint;
  const servers = useData("servers", (signal) => api.servers(signal));
  const nameOf = (serverId: string): string =>
    servers.value?.servers.find((server) => server.serverId === serverId)?.configuration.serverName ?? serverId;
  return (
    <DetailList>
      <Detail name="Address">
        <code>{url}</code>
      </Detail>
      <Detail name="State">
        <State of={status} />
      </Detail>
      <Detail name="Description">{description === "" ? <Nothing /> : description}</Detail>
      <Detail name="Event types">{kinds === null ? "All except command results" : <Chips of={kinds} />}</Detail>
      <Detail name="Servers">{serverIds === null ? "All" : <Chips of={serverIds.map(nameOf)} />}</Detail>
      <Detail name="Added">
        <Moment at={endpoint.createdAt} />
      </Detail>
      <Detail name="Changed">
        <Moment at={endpoint.updatedAt} />
      </Detail>
      <Detail name="Endpoint id">
        <code>{endpoint.id}</code>
      </Detail>
    </DetailList>
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

interface DialogsProps {
  readonly endpoint: WebhookEndpoint;
  readonly opened: Opened;
  readonly onClose: () => void;
  readonly onChanged: (endpoint: WebhookEndpoint) => void;
  readonly onRotated: (secret: WebhookSecret) => void;
  readonly onReplayed: (message: string) => void;
}

function Dialogs({ endpoint, opened, onClose, onChanged, onRotated, onReplayed }: DialogsProps) {
  const api = useApi();
  const { id, url } = endpoint;
  const change = async (settings: WebhookSettings): Promise<void> => {
    onChanged(await api.changeWebhook(id, settings));
    onClose();
  };
  if (opened === "change") {
    return <EndpointForm title="Edit endpoint" confirm="Save" endpoint={endpoint} save={change} onClose={onClose} />;
  }
  if (opened === "replay") return <Replay endpointId={id} onReplayed={onReplayed} onClose={onClose} />;
  if (opened === "switch") return <Switch endpoint={endpoint} onChanged={onChanged} onClose={onClose} />;
  if (opened === "rotate") {
    return (
      <ConfirmDialog
        title="Rotate this secret?"
        confirm="Rotate secret"
        work={async () => onRotated(await api.rotateWebhookSecret(id))}
        onClose={onClose}
      >
        <p>
          Creates a new secret and shows it once. For 24 hours each event is signed with both secrets, so that you can
          update your receiver. After that, only the new secret is used.
        </p>
      </ConfirmDialog>
    );
  }
  if (opened === "delete") {
    return (
      <ConfirmDialog
        title="Delete this endpoint?"
        confirm="Delete endpoint"
        dangerous
        work={async () => {
          await api.deleteWebhook(id);
          go(LIST);
        }}
        onClose={onClose}
      >
        <p>
          <code>{url}</code> gets no more events, including pending ones, and its deliveries are no longer shown. This
          cannot be undone.
        </p>
      </ConfirmDialog>
    );
  }
  return null;
}

function Switch({ endpoint, onChanged, onClose }: Pick<DialogsProps, "endpoint" | "onChanged" | "onClose">) {
  const api = useApi();
  const disable = endpoint.status === "enabled";
  return (
    <ConfirmDialog
      title={disable ? "Disable this endpoint?" : "Enable this endpoint?"}
      confirm={disable ? "Disable endpoint" : "Enable endpoint"}
      dangerous={disable}
      work={async () => onChanged(await api.changeWebhook(endpoint.id, { status: disable ? "disabled" : "enabled" }))}
      onClose={onClose}
    >
      <p>
        {disable
          ? "It gets no events until you enable it again, and pending deliveries are cancelled. Use a replay later to send missed events."
          : "It gets events from now on. Use a replay to send missed events."}
      </p>
    </ConfirmDialog>
  );
}
