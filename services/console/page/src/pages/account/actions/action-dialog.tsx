import { useState } from "preact/hooks";

import { asFailure, Failure } from "../../../api/failure.ts";
import type { TradingAccount } from "../../../api/shapes.ts";
import { credits as whole } from "../../../format.ts";
import { ConfirmDialog } from "../../../parts/confirm-dialog.tsx";
import { Field } from "../../../parts/field.tsx";
import { Detail, DetailList, Money, Nothing } from "../../../parts/values.tsx";
import { balanceAfter, inUnits, minorUnits } from "./amounts.ts";
import type { CurrentIntent } from "./use-intent.ts";
import { ACTIONS, type ButtonAction, confirmText } from "./words.ts";

const WRONG_AMOUNT = "Enter an amount above 0, with at most two decimals and no thousands separators.";
const MAX_DESCRIPTION_CHARACTERS = 250;

interface ActionDialogProps {
  readonly account: TradingAccount;
  readonly action: ButtonAction;
  readonly start: CurrentIntent["start"];
  readonly onClose: () => void;
}

/** Asks before an action. The dialog names the account, the amount, and what will change. */
export function ActionDialog(props: ActionDialogProps) {
  const { action } = props;
  if (action === "deposit" || action === "withdraw") return <MoneyDialog {...props} action={action} />;
  return action === "disable" ? <DisableDialog {...props} /> : <SimpleDialog {...props} />;
}

function titleOf(action: ButtonAction, { accountNumber, accountName }: TradingAccount): string {
  return `${ACTIONS[action].question} account ${accountNumber} (${accountName})?`;
}

function SimpleDialog({ account, action, start, onClose }: ActionDialogProps) {
  return (
    <ConfirmDialog
      title={titleOf(action, account)}
      confirm={confirmText(action, null, account.currency)}
      dangerous={ACTIONS[action].dangerous === true}
      work={() => start(action, {})}
      onClose={onClose}
    >
      <p>{ACTIONS[action].effect(account)}</p>
    </ConfirmDialog>
  );
}

function DisableDialog({ account, action, start, onClose }: ActionDialogProps) {
  const [flatten, setFlatten] = useState(false);
  const { openPositionCount: count } = account;
  return (
    <ConfirmDialog
      title={titleOf(action, account)}
      confirm={flatten ? "Disable and flatten" : "Disable"}
      dangerous
      work={() => start(action, flatten ? { flatten } : {})}
      onClose={onClose}
    >
      <p>{ACTIONS.disable.effect(account)}</p>
      <p>
        <label class="check">
          <input
            type="checkbox"
            checked={flatten}
            onChange={({ currentTarget }) => setFlatten(currentTarget.checked)}
          />{" "}
          {count === 0
            ? "Cancel pending orders, and close positions that open before the account is disabled"
            : `Close ${count === 1 ? "the open position" : `all ${whole(count)} open positions`}, and cancel pending orders`}
        </label>
      </p>
    </ConfirmDialog>
  );
}

interface MoneyDialogProps extends ActionDialogProps {
  readonly action: "deposit" | "withdraw";
}

function MoneyDialog({ account, action, start, onClose }: MoneyDialogProps) {
  const [text, setText] = useState("");
  const [description, setDescription] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const { balance, currency } = account;
  const minor = minorUnits(text);
  const amount = minor === null ? null : inUnits(minor);
  const after = minor === null ? null : balanceAfter(balance, action === "deposit" ? minor : -minor);
  const work = async (): Promise<void> => {
    setProblem(null);
    try {
      if (amount === null) throw wrongAmount();
      await start(action, { amount, ...(description === "" ? {} : { description }) });
    } catch (error) {
      setProblem(asFailure(error).of("amount"));
      throw error;
    }
  };
  return (
    <ConfirmDialog
      title={titleOf(action, account)}
      confirm={confirmText(action, amount, currency)}
      fields={["amount"]}
      work={work}
      onClose={onClose}
    >
      <p>{ACTIONS[action].effect(account)}</p>
      <Field label={`Amount (${currency})`} error={problem}>
        {(tied) => (
          <input
            {...tied}
            inputMode="decimal"
            autoComplete="off"
            value={text}
            onInput={({ currentTarget }) => {
              setText(currentTarget.value);
              setProblem(null);
            }}
          />
        )}
      </Field>
      <Field label="Description" hint="Optional. It is shown with the transaction, also to callers of the API.">
        {(tied) => (
          <input
            {...tied}
            autoComplete="off"
            maxLength={MAX_DESCRIPTION_CHARACTERS}
            value={description}
            onInput={({ currentTarget }) => setDescription(currentTarget.value)}
          />
        )}
      </Field>
      <DetailList>
        <Detail name="Balance">
          <Money amount={balance} currency={currency} />
        </Detail>
        <Detail name="Balance after">
          {after === null ? <Nothing /> : <Money amount={after} currency={currency} />}
        </Detail>
      </DetailList>
    </ConfirmDialog>
  );
}

function wrongAmount(): Failure {
  return new Failure(WRONG_AMOUNT, null, { issues: [{ path: ["amount"], code: "custom", message: WRONG_AMOUNT }] });
}
