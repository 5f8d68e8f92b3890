import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

import { Problem } from "./notice.tsx";
import { useAction } from "./use-data.ts";

interface DialogProps {
  readonly title: string;
  /** The dialog was closed by Escape or by its own buttons. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A native modal dialog, open while it is drawn. Whatever had the focus before gets it back. */
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
      // While it is open, nothing behind it can have the focus.
      element?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  // Escape closes the dialog here, not in the browser: the browser gives the focus back at once and
  // reports `close` later, and a button pressed between the two would open nothing.
  const closeByEscape = (event: Event): void => {
    event.preventDefault();
    onClose();
  };
  // The browser may close the dialog all the same. It reports `close` late: another may be open.
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
  /** What is done, on the button: "Revoke the key". */
  readonly confirm: string;
  readonly dangerous?: boolean;
  readonly work: () => Promise<void>;
  readonly onClose: () => void;
}

/** Asks before something that matters is done, and tells where it failed. */
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
