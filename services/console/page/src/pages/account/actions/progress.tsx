import type { Command } from "../../../api/shapes.ts";
import { minuteMoment } from "../../../format.ts";
import { Notice, Problem } from "../../../parts/notice.tsx";
import { useAction } from "../../../parts/use-data.ts";
import { CommandLink, Copy } from "../../../parts/values.tsx";
import { Link } from "../../../router.tsx";
import { tabPath } from "../tabs/tab-links.ts";
import { decidedAtMs, type Intent } from "./intents.ts";
import { type CurrentIntent, isFinal } from "./use-intent.ts";
import { failureText } from "./words.ts";

const MOVES_MONEY: ReadonlySet<string> = new Set(["finance.deposit", "finance.withdraw"]);

interface ProgressProps {
  readonly serverId: string;
  readonly current: CurrentIntent;
  /** Name of the action: "Deposit of 100.00 USD". */
  readonly what: (intent: Intent) => string;
  /** What a succeeded command did, in sentences. */
  readonly result: (command: Command) => string;
}

/**
 * The progress of the last action. The action is called done only after its command has succeeded.
 * Screen readers announce each change.
 */
export function Progress({ serverId, current, what: nameOf, result }: ProgressProps) {
  const { intent, command } = current;
  if (intent === null) return <div aria-live="polite" />;
  const what = nameOf(intent);
  return (
    <div aria-live="polite">
      {isFinal(command) ? (
        <Outcome what={what} result={result} current={current} />
      ) : intent.state === "unknown" ? (
        <Unknown what={what} intent={intent} current={current} />
      ) : (
        <Running what={what} serverId={serverId} intent={intent} current={current} />
      )}
      <NewPassword intent={intent} current={current} />
    </div>
  );
}

interface PartProps {
  readonly what: string;
  readonly current: CurrentIntent;
}

function Running({ what, serverId, intent, current }: PartProps & { serverId: string; intent: Intent }) {
  const { commandId } = intent;
  return (
    <Notice kind="warning">
      <strong>{what}:</strong>{" "}
      {commandId === null
        ? "sending…"
        : current.isOverdue
          ? "its outcome is not known yet, although its deadline is over. Contact your provider with the command id."
          : `accepted, not done yet. Its outcome should be known by ${minuteMoment(decidedAtMs(intent))}.`}{" "}
      {commandId === null ? null : (
        <CommandLink serverId={serverId} commandId={commandId}>
          Command
        </CommandLink>
      )}{" "}
      {current.isOverdue ? <Dismiss current={current} /> : null}
    </Notice>
  );
}

function Unknown({ what, intent, current }: PartProps & { readonly intent: Intent }) {
  const again = useAction(current.sendAgain);
  return (
    <Notice kind="warning">
      <strong>{what}: not known yet whether the action was accepted.</strong> Do not start the same action again.{" "}
      {current.isOverdue
        ? "No command of the action was found until now. It may still appear: kapi records commands late after an outage."
        : `This page looks for the command of the action. The outcome should be known by ${minuteMoment(decidedAtMs(intent))}.`}{" "}
      “Send again” is safe: it sends the same request, and the action is carried out at most once.{" "}
      {current.failure === null ? null : <span class="quiet">({current.failure.message})</span>}
      <div class="buttons">
        <button type="button" disabled={again.busy} onClick={again.run}>
          {again.busy ? "Sending…" : "Send again"}
        </button>
        {current.isOverdue ? <Dismiss current={current} /> : null}
      </div>
    </Notice>
  );
}

function Outcome({ what, result, current }: PartProps & Pick<ProgressProps, "result">) {
  const { command } = current;
  if (command === null) return null;
  const isDone = command.status === "succeeded";
  return (
    <Notice kind={isDone ? "good" : "problem"}>
      <strong>
        {what}: {isDone ? "done." : command.status === "expired" ? "expired." : "failed."}
      </strong>{" "}
      {isDone ? result(command) : failureText(command)}{" "}
      {command.errorCode === null ? null : <code>{command.errorCode}</code>}{" "}
      <CommandLink serverId={command.serverId} commandId={command.id}>
        Command
      </CommandLink>{" "}
      {isDone ? <TransactionLink command={command} /> : null} <Dismiss current={current} />
    </Notice>
  );
}

/** The transaction of a finished deposit or withdrawal. */
function TransactionLink({ command: { id, operation, serverId, accountNumber } }: { readonly command: Command }) {
  if (!MOVES_MONEY.has(operation) || accountNumber === null || accountNumber === undefined) return null;
  return <Link to={tabPath({ serverId, accountNumber }, "transactions", { commandId: id })}>Transaction</Link>;
}

/**
 * The new password of a reset. Only the person who reset the password sees it, and it is never
 * stored. After a reload of the page, a button sends the same request again to get the password.
 */
function NewPassword({ intent, current }: { readonly intent: Intent; readonly current: CurrentIntent }) {
  const again = useAction(current.sendAgain);
  const { action, commandId } = intent;
  const { command } = current;
  // A reset that failed or expired set no password.
  if (isFinal(command) && command?.status !== "succeeded") return null;
  if ((action !== "reset-password" && action !== "reset-investor-password") || commandId === null) return null;
  if (current.password === null) {
    return (
      <>
        <p>
          <button type="button" disabled={again.busy} onClick={again.run}>
            {again.busy ? "Sending…" : "Show the new password"}
          </button>
        </p>
        <Problem failure={again.failure} />
      </>
    );
  }
  return (
    <p class="new-password">
      New password: <code>{current.password}</code> <Copy text={current.password} what="the password" /> It is valid as
      soon as the reset is done. Copy it before you close this message: afterwards it cannot be shown again.
    </p>
  );
}

function Dismiss({ current }: { readonly current: CurrentIntent }) {
  return (
    <button type="button" class="plain" onClick={current.dismiss}>
      Close
    </button>
  );
}
