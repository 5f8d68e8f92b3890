import { useState } from "preact/hooks";

import { useSession } from "../../../api/context.ts";
import type { AccountAction, TradingAccount } from "../../../api/shapes.ts";
import { ActionDialog } from "./action-dialog.tsx";
import { Progress } from "./progress.tsx";
import { isFinal, useIntent } from "./use-intent.ts";
import { ACTIONS } from "./words.ts";
import "./actions.css";

interface AccountActionsProps {
  readonly account: TradingAccount;
  /** Called when an action has changed the account. */
  readonly onChanged: () => void;
}

/**
 * The actions that the person's role and the state of the account allow, and the outcome of the
 * last one. One action at a time: the next has to wait until the outcome is known.
 */
export function AccountActions({ account, onChanged }: AccountActionsProps) {
  const { permissions } = useSession();
  const [asked, setAsked] = useState<AccountAction | null>(null);
  const current = useIntent(account, onChanged);
  const isBusy = current.intent !== null && !isFinal(current.command);
  const allowed = (Object.keys(ACTIONS) as AccountAction[]).filter(
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
      <Progress account={account} current={current} />
      {asked === null ? null : (
        <ActionDialog account={account} action={asked} start={current.start} onClose={() => setAsked(null)} />
      )}
    </section>
  );
}
