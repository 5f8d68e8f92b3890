import { useApi } from "../api/context.ts";
import type { Command } from "../api/shapes.ts";
import { credits as whole } from "../format.ts";
import { ActorName, useActorNames } from "../parts/actor.tsx";
import { Loaded, Notice } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { useData, useReloadWhile } from "../parts/use-data.ts";
import { AccountLink, Block, Detail, DetailList, Moment, State } from "../parts/values.tsx";
import { Link, part } from "../router.tsx";

/** Poll interval of a command that is not final. */
const RELOAD_INTERVAL_MS = 2_000;

interface CommandProps {
  readonly serverId: string;
  readonly commandId: string;
}

/** One command: its state, payload and result. */
export function CommandPage({ serverId, commandId }: CommandProps) {
  const api = useApi();
  const command = useData("command", (signal) => api.command(serverId, commandId, signal));
  const status = command.value?.status;
  useReloadWhile(status === "queued" || status === "leased", command, RELOAD_INTERVAL_MS);
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
  const names = useActorNames([command.createdBy]);
  return (
    <>
      {errorCode === null ? null : (
        <Notice kind="warning">
          <code>{errorCode}</code> {errorMessage}
        </Notice>
      )}
      <section class="card">
        <DetailList>
          <Detail name="Operation">{command.operation}</Detail>
          <Detail name="State">
            <State of={command.status} />
          </Detail>
          <Detail name="Account">
            <AccountLink serverId={serverId} accountNumber={accountNumber} />
          </Detail>
          <Detail name="Attempts">{whole(command.attempts)}</Detail>
          <Detail name="Requested by">
            <ActorName of={command.createdBy} names={names} />
          </Detail>
          <Detail name="Accepted">
            <Moment at={command.createdAt} />
          </Detail>
          <Detail name="Final">
            <Moment at={command.completedAt} />
          </Detail>
          <Detail name="Deadline">
            <Moment at={command.deadlineAt} />
          </Detail>
          <Detail name="Command id">
            <code>{command.id}</code>
          </Detail>
          <Detail name="Request id">
            <code>{command.requestId}</code>
          </Detail>
          <Detail name="Idempotency key">
            <code>{command.idempotencyKey}</code>
          </Detail>
        </DetailList>
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
