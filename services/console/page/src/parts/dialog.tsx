import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

import { Problem } from "./notice.tsx";
import { useAction } from "./use-data.ts";

interface DialogProps {
  readonly title: string;
  /** Called when Escape or the browser closes the dialog; the caller stops rendering it. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A native modal dialog, open while it is rendered. Afterwards the focus returns. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isGone = useRef(false);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    return () => {
      isGone.current = true;
      // Close first: while the dialog is open, no element behind it can have the focus.
      element?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  // Escape closes the dialog here, not in the browser: the browser returns the focus at once and
  // reports `close` later. A button pressed between the two would not open its dialog.
  const closeByEscape = (event: Event): void => {
    event.preventDefault();
    onClose();
  };
  // The browser may still close the dialog. It reports `close` late: another dialog may be open.
  const closed = (): void => {
    if (!isGone.current) onClose();
  };
  return (
    <dialog ref={dialog} aria-labelledby={id} onCancel={closeByEscape} onClose={closed}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Label of the confirm button: "Revoke key". */
  readonly confirm: string;
  readonly dangerous?: boolean;
  readonly work: () => Promise<void>;
  readonly onClose: () => void;
}

/** Asks before an important action, and shows its failure. */
export function Confirm({ title, children, confirm, dangerous, work, onClose }: ConfirmProps) {
  const action = useAction(async () => {
    await work();
    onClose();
  });
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <Problem failure={action.failure} />
      <div class="buttons">
        <button
          type="button"
          class={dangerous === true ? "danger" : "primary"}
          disabled={action.busy}
          onClick={action.run}
        >
          {action.busy ? "Working…" : confirm}
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
