/** The usage lines of one request: its credits, and the commands that it queued. */
import { useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import type { ConsoleRequest, CreditUsage } from "../api/shapes.ts";
import { credits as whole } from "../format.ts";
import { Loaded } from "../parts/notice.tsx";
import { Pager } from "../parts/pager.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { useData } from "../parts/use-data.ts";
import { CommandLink, Moment, Nothing } from "../parts/values.tsx";

const LINES_A_PAGE = 20;

/** The usage lines of a request, in pages. A bulk request has lines for each of its commands. */
export function RequestUsage({ request }: { readonly request: ConsoleRequest }) {
  const api = useApi();
  const [page, setPage] = useState(1);
  const { requestId, serverId, creditsCharged } = request;
  const usage = useData(`usage ${requestId} ${page}`, (signal) =>
    api.usageOfRequest(request, page, LINES_A_PAGE, signal),
  );
  return (
    <Loaded data={usage} what="the usage of the request">
      {({ usage: lines, pagination }) =>
        pagination.total === 0 ? (
          <p class="quiet">
            {creditsCharged === 0
              ? "This request cost no credits."
              : "The usage of this request is not recorded yet. This usually takes a few seconds. Load this page again."}
          </p>
        ) : (
          <>
            <Table caption="Credits of the request" columns={columnsOf(serverId)} rows={lines} keyOf={keyOfLine} />
            <Pager pagination={pagination} what={["line", "lines"]} go={setPage} />
          </>
        )
      }
    </Loaded>
  );
}

function columnsOf(serverId: string | null): readonly Column<CreditUsage>[] {
  return [
    { head: "Time", cell: ({ at }) => <Moment at={at} /> },
    { head: "Operation", cell: ({ operation }) => operation },
    {
      head: "Command",
      cell: ({ commandId }) => {
        if (commandId === null) return <Nothing />;
        return serverId === null ? <code>{commandId}</code> : <CommandLink {...{ serverId, commandId }} />;
      },
    },
    { head: "Credits", numeric: true, cell: ({ credits }) => whole(credits) },
  ];
}

function keyOfLine({ at, operation, commandId, credits }: CreditUsage): string {
  return [at, operation, commandId, credits].join(" ");
}
