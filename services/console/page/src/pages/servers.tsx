import { useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import type { ConsoleServer } from "../api/shapes.ts";
import { credits as whole } from "../format.ts";
import { ConfirmDialog } from "../parts/confirm-dialog.tsx";
import { Loaded } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { Permitted } from "../parts/permitted.tsx";
import { ServersLeftOut } from "../parts/servers-left-out.tsx";
import { useData } from "../parts/use-data.ts";
import { Detail, DetailList, State } from "../parts/values.tsx";
import { Link, part } from "../router.tsx";
import { EditConfiguration } from "./servers-configuration.tsx";

/** The trading servers of the organization: their state and configuration. */
export function ServersPage() {
  const api = useApi();
  const servers = useData("servers", (signal) => api.servers(signal));
  const [switching, setSwitching] = useState<ConsoleServer | null>(null);
  const [editing, setEditing] = useState<ConsoleServer | null>(null);
  const saved = (): void => {
    setEditing(null);
    servers.reload();
  };
  return (
    <Page title="Servers">
      <Loaded data={servers} what="the servers">
        {({ servers: list }) =>
          list.length === 0 ? (
            <p class="quiet">This organization has no trading servers yet. Contact your provider to add one.</p>
          ) : (
            <>
              <ServersLeftOut answer={servers.value} of="this list" />
              <div class="cards">
                {list.map((server) => (
                  <ServerCard
                    key={server.serverId}
                    server={server}
                    onSwitch={() => setSwitching(server)}
                    onEdit={() => setEditing(server)}
                  />
                ))}
              </div>
            </>
          )
        }
      </Loaded>
      {switching === null ? null : (
        <SwitchServer server={switching} onSwitched={servers.reload} onClose={() => setSwitching(null)} />
      )}
      {editing === null ? null : (
        <EditConfiguration server={editing} onSaved={saved} onClose={() => setEditing(null)} />
      )}
    </Page>
  );
}

interface ServerCardProps {
  readonly server: ConsoleServer;
  readonly onSwitch: () => void;
  readonly onEdit: () => void;
}

function ServerCard({ server, onSwitch, onEdit }: ServerCardProps) {
  const { serverId, status, accountCount, configuration } = server;
  const { serverName, companyName, environment, currency, currencySymbol } = configuration;
  const { supportedLeverage, defaultLeverage } = configuration;
  return (
    <section class="card">
      <div class="section-head">
        <h2>{serverName}</h2>
        <State of={status} />
      </div>
      <DetailList>
        <Detail name="Server id">
          <code>{serverId}</code>
        </Detail>
        <Detail name="Company">{companyName}</Detail>
        <Detail name="Environment">{environment}</Detail>
        <Detail name="Currency">
          {currency} ({currencySymbol})
        </Detail>
        <Detail name="Leverage">{supportedLeverage.join(", ")}</Detail>
        <Detail name="Default leverage">{defaultLeverage ?? "none"}</Detail>
        <Detail name="Accounts">
          <Link to={`/accounts?server=${part(serverId)}`}>{whole(accountCount)}</Link>
        </Detail>
      </DetailList>
      <Permitted to="servers:manage">
        <div class="buttons">
          <button type="button" onClick={onEdit} aria-label={`Edit configuration of ${serverName}`}>
            Edit configuration
          </button>
          <button
            type="button"
            class={status === "active" ? "danger" : "primary"}
            onClick={onSwitch}
            aria-label={`${status === "active" ? "Disable" : "Enable"} ${serverName}`}
          >
            {status === "active" ? "Disable" : "Enable"}
          </button>
        </div>
      </Permitted>
    </section>
  );
}

interface SwitchProps {
  readonly server: ConsoleServer;
  readonly onSwitched: () => void;
  readonly onClose: () => void;
}

function SwitchServer({ server, onSwitched, onClose }: SwitchProps) {
  const api = useApi();
  const { serverName } = server.configuration;
  const disable = server.status === "active";
  const work = async (): Promise<void> => {
    await api.changeServer(server.serverId, { status: disable ? "disabled" : "active" });
    onSwitched();
  };
  return (
    <ConfirmDialog
      title={disable ? "Disable this server?" : "Enable this server?"}
      confirm={disable ? "Disable server" : "Enable server"}
      dangerous={disable}
      work={work}
      onClose={onClose}
    >
      {disable ? (
        <p>
          New accounts cannot be created on <strong>{serverName}</strong>, and commands fail with{" "}
          <code>SERVER_DISABLED</code>, including queued ones. Reads, immediate deletion, and changes of the
          configuration, of risk rules and of risk templates still work.
        </p>
      ) : (
        <p>
          <strong>{serverName}</strong> accepts new accounts and commands again.
        </p>
      )}
    </ConfirmDialog>
  );
}
