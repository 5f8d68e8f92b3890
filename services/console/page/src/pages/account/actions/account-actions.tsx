import { useState } from "preact/hooks";

import { useApi, useSession } from "../../../api/context.ts";
import type { TradingAccount } from "../../../api/shapes.ts";
import { ActionDialog } from "./action-dialog.tsx";
import { Progress } from "./progress.tsx";
import { type IntentTarget, isFinal, useIntent } from "./use-intent.ts";
import { ACTIONS, actionText, type ButtonAction, isButtonAction, resultText } from "./words.ts";
import "./actions.css";

interface AccountActionsProps {
  readonly account: TradingAccount;
  /** Called when an action has changed the account. */
  readonly onChanged: () => void;
}

/**
 * The actions that the person's role and the state of the account allow, and the outcome of the
 * last action. The next action has to wait until this outcome is known, or until the person
 * closes the message of an overdue action.
 */
export function AccountActions({ account, onChanged }: AccountActionsProps) {
  const api = useApi();
  const { permissions } = useSession();
  const [asked, setAsked] = useState<ButtonAction | null>(null);
  const { serverId, accountNumber, currency } = account;
  const target: IntentTarget = {
    serverId,
    subject: accountNumber,
    send: ({ action, key, fields }) => {
      if (!isButtonAction(action)) throw new TypeError(`${action} has no button`);
      return api.act(serverId, accountNumber, action, { ...fields, idempotencyKey: key });
    },
  };
  const current = useIntent(target, onChanged);
  const isBusy = current.intent !== null && !isFinal(current.command);
  const allowed = (Object.keys(ACTIONS) as ButtonAction[]).filter(
    (action) => permissions.includes(ACTIONS[action].permission) && ACTIONS[action].states.includes(account.status),
  );
  if (allowed.length === 0 && current.intent === null) return null;
  return (
    <section class="account-actions" aria-label="Actions">
      <div class="inline">
        {allowed.map((action) => (
          <button key={action} type="button" disabled={isBusy} onClick={() => setAsked(action)}>
            {ACTIONS[action].name}
          </button>
        ))}
      </div>
      <Progress
        serverId={serverId}
        current={current}
        what={({ action, fields }) => (isButtonAction(action) ? actionText(action, fields, currency) : action)}
        result={(command) => resultText(command, currency)}
      />
      {asked === null ? null : (
        <ActionDialog account={account} action={asked} start={current.start} onClose={() => setAsked(null)} />
      )}
    </section>
  );
}
