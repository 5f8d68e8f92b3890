import type { ComponentChildren } from "preact";

import { useApi } from "../api/context.ts";
import type { ConsoleServer } from "../api/shapes.ts";
import { SelectField } from "./select-field.tsx";
import { Loaded } from "./notice.tsx";
import { ServersLeftOut } from "./servers-left-out.tsx";
import { useData } from "./use-data.ts";

interface WithServerProps {
  /** The requested server; null: the first server. */
  readonly serverId: string | null;
  readonly choose: (serverId: string) => void;
  readonly children: (server: ConsoleServer) => ComponentChildren;
}

/**
 * Content for one server, or a text if the organization has no servers. Above the content is a
 * choice of the server, if there are several, or if the requested one does not exist.
 */
export function WithServer({ serverId, choose, children }: WithServerProps) {
  const api = useApi();
  const servers = useData("servers", (signal) => api.servers(signal));
  return (
    <Loaded data={servers} what="the servers">
      {({ servers: list, serversLeftOut }) => {
        const server = serverId === null ? list[0] : list.find((known) => known.serverId === serverId);
        if (list.length === 0) {
          return <p class="quiet">This organization has no trading servers yet. Contact your provider to add one.</p>;
        }
        return (
          <>
            {list.length > 1 || server === undefined ? (
              <Choice servers={list} serverId={server?.serverId ?? ""} choose={choose} />
            ) : null}
            <ServersLeftOut answer={servers.value} of="the choice of servers" />
            {server === undefined ? (
              <p>
                This server does not exist in your organization{serversLeftOut ? ", or is left out" : ""}. Choose
                another one.
              </p>
            ) : (
              children(server)
            )}
          </>
        );
      }}
    </Loaded>
  );
}

interface ChoiceProps {
  readonly servers: readonly ConsoleServer[];
  readonly serverId: string;
  readonly choose: (serverId: string) => void;
}

function Choice({ servers, serverId, choose }: ChoiceProps) {
  const known = servers.map((server) => [server.serverId, server.configuration.serverName] as const);
  const options = serverId === "" ? ([["", "Choose a server"], ...known] as const) : known;
  return <SelectField label="Server" value={serverId} options={options} choose={choose} />;
}
