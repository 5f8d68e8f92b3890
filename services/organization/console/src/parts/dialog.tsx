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
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
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
