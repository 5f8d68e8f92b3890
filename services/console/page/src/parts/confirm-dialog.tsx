import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { Dialog } from "./dialog.tsx";
import { Field } from "./field.tsx";
import { Problem } from "./notice.tsx";
import { useAction } from "./use-data.ts";

interface ConfirmDialogProps {
  /** The question: "Revoke this key?" */
  readonly title: string;
  /** The effect, in sentences, and fields of the action if it has any. */
  readonly children: ComponentChildren;
  /** Label of the confirm button, which names the action: "Revoke key". */
  readonly confirm: string;
  readonly dangerous?: boolean;
  /** Whether the fields in `children` are complete. */
  readonly canConfirm?: boolean;
  /** A text that the person must type first, for an action that cannot be undone. */
  readonly typed?: string;
  /** Fields in `children` that show their own issues. */
  readonly fields?: readonly string[];
  /** The action. If it rejects, the dialog stays open and shows the failure. */
  readonly work: () => Promise<void>;
  readonly onClose: () => void;
}

/** Asks before an action, and shows its failure. */
export function ConfirmDialog({
  title,
  children,
  confirm,
  dangerous = false,
  canConfirm = true,
  typed,
  fields,
  work,
  onClose,
}: ConfirmDialogProps) {
  const [text, setText] = useState("");
  const action = useAction(async () => {
    await work();
    onClose();
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    action.run();
  };
  return (
    <Dialog title={title} onClose={onClose} busy={action.busy}>
      <form onSubmit={submit}>
        {children}
        {typed === undefined ? null : (
          <Field label={`Type ${typed} to confirm`}>
            {(tied) => (
              <input
                {...tied}
                autoComplete="off"
                value={text}
                onInput={({ currentTarget }) => setText(currentTarget.value)}
              />
            )}
          </Field>
        )}
        <Problem failure={action.failure} {...(fields === undefined ? {} : { fields })} />
        <div class="buttons">
          <button
            type="submit"
            class={dangerous ? "danger" : "primary"}
            disabled={action.busy || !canConfirm || (typed !== undefined && text !== typed)}
          >
            {action.busy ? "Working…" : confirm}
          </button>
          <button type="button" disabled={action.busy} onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
