import { useEffect } from "preact/hooks";

import { useApi } from "../api/context.ts";
import type { Command } from "../api/shapes.ts";
import { credits as whole } from "../format.ts";
import { Loaded, Notice } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { useData } from "../parts/use-data.ts";
import { Block, Fact, Facts, Moment, Nothing, State } from "../parts/values.tsx";
import { Link, part } from "../router.tsx";

/** How often a command that is not final is read again. */
const AGAIN_MS = 2_000;

interface CommandProps {
  readonly serverId: string;
  readonly commandId: string;
}

/** One command: its state, what was asked for and what came of it. */
export function CommandPage({ serverId, commandId }: CommandProps) {
  const api = useApi();
  const command = useData("command", (signal) => api.command(serverId, commandId, signal));
  const { value, reload } = command;
  useEffect(() => {
    if (value === null || (value.status !== "queued" && value.status !== "leased")) return undefined;
    const timer = setTimeout(reload, AGAIN_MS);
    return () => clearTimeout(timer);
  }, [value, reload]);
  return (
    <Page title="Command">
      <p>
        <Link to={`/commands?server=${part(serverId)}`}>All commands</Link>
      </p>
      <Loaded data={command} what="the command">
        {(shown) => <CommandView command={shown} />}
      </Loaded>
    </Page>
  );
}

function CommandView({ command }: { readonly command: Command }) {
  const { serverId, accountNumber, errorCode, errorMessage } = command;
  return (
    <>
      {errorCode === null ? null : (
        <Notice kind="warning">
          <code>{errorCode}</code> {errorMessage}
        </Notice>
      )}
      <section class="card">
        <Facts>
          <Fact name="Operation">{command.operation}</Fact>
          <Fact name="State">
            <State of={command.status} />
          </Fact>
          <Fact name="Account">
            {accountNumber === null || accountNumber === undefined ? (
              <Nothing />
            ) : (
              <Link to={`/accounts/${part(serverId)}/${part(accountNumber)}`}>{accountNumber}</Link>
            )}
          </Fact>
          <Fact name="Attempts">{whole(command.attempts)}</Fact>
          <Fact name="Asked for by">{command.createdBy ? <Actor of={command.createdBy} /> : <Nothing />}</Fact>
          <Fact name="Accepted">
            <Moment at={command.createdAt} />
          </Fact>
          <Fact name="Final">
            <Moment at={command.completedAt} />
          </Fact>
          <Fact name="Deadline">
            <Moment at={command.deadlineAt} />
          </Fact>
          <Fact name="Command id">
            <code>{command.id}</code>
          </Fact>
          <Fact name="Request id">
            <code>{command.requestId}</code>
          </Fact>
          <Fact name="Idempotency key">
            <code>{command.idempotencyKey}</code>
          </Fact>
        </Facts>
      </section>
      <section class="card">
        <h2>Payload</h2>
        {command.payload === undefined ? (
          <p class="quiet">No longer kept.</p>
        ) : (
          <Block text={JSON.stringify(command.payload, null, 2)} label="Payload" />
        )}
      </section>
      <section class="card">
        <h2>Result</h2>
        {command.result === null ? (
          <p class="quiet">{command.payload === undefined ? "No longer kept." : "None."}</p>
        ) : (
          <Block text={JSON.stringify(command.result, null, 2)} label="Result" />
        )}
      </section>
    </>
  );
}

function Actor({ of: { type, id } }: { readonly of: NonNullable<Command["createdBy"]> }) {
  return (
    <>
      {type} <code>{id}</code>
    </>
  );
}
