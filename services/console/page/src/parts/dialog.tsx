import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

interface DialogProps {
  readonly title: string;
  /**
   * Called when Escape or the browser closes the dialog. The caller stops rendering it, or leaves
   * it open.
   */
  readonly onClose: () => void;
  /**
   * Whether a request of the dialog is running. The dialog then stays open: a person who closed it
   * would not see the outcome.
   */
  readonly busy: boolean;
  readonly children: ComponentChildren;
}

/**
 * A native modal dialog, open while it is rendered. When the dialog is unmounted, the focus returns
 * to the element that had the focus before.
 */
export function Dialog({ title, onClose, busy, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isUnmounted = useRef(false);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    element?.addEventListener("keydown", ignoreHeldEnter);
    return () => {
      isUnmounted.current = true;
      // Close first: while the dialog is open, no element behind it can have the focus.
      element?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  // Escape calls `onClose` at once. If the browser closed the dialog, it would return the focus at
  // once, but report `close` later. In between, the caller would still render this dialog, so the
  // button that opens the dialog would have the focus but no effect.
  const closeByEscape = (event: Event): void => {
    event.preventDefault();
    if (!busy) onClose();
  };
  // The browser can still close the dialog itself. It then reports `close` later, perhaps after
  // this dialog was unmounted. If the dialog stays open, it is shown again.
  const closed = (): void => {
    if (isUnmounted.current) return;
    if (!busy) onClose();
    requestAnimationFrame(() => {
      const element = dialog.current;
      if (!isUnmounted.current && element?.isConnected === true && !element.open) element.showModal();
    });
  };
  return (
    <dialog ref={dialog} aria-labelledby={id} onCancel={closeByEscape} onClose={closed}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

/** Ignores a held Enter key: the key press that opened the dialog must not press a button in it. */
function ignoreHeldEnter(event: KeyboardEvent): void {
  if (event.key === "Enter" && event.repeat) event.preventDefault();
}
