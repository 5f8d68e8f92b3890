import type { ShownServer } from "@kapi/contracts";
import { expect, it } from "vitest";

import { listServers, type ServerDependencies } from "./list-servers.ts";

it("the list of servers says how many servers it leaves out", async () => {
  const configuration = { serverName: "Demo", currency: "USD" };
  const servers = [{ serverId: "one", status: "active", configuration }] as unknown as ShownServer[];
  const listed = (total: number) => {
    const directory = { servers: () => Promise.resolve({ servers, total }) };
    const accounts = { overviews: () => Promise.resolve([null]) };
    return listServers({ directory, accounts } as unknown as ServerDependencies, "an organization");
  };
  expect(await listed(13)).toMatchObject({ servers: [{ serverId: "one" }], serversLeftOut: 12 });
  // A server was removed while the pages of the list were read.
  expect(await listed(0)).toMatchObject({ serversLeftOut: 0 });
});
