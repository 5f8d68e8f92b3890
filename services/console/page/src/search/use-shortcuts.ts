/** Keys that open a dialog. They work on every page. */
import { useEffect } from "preact/hooks";

type ShortcutDialog = "search" | "shortcuts";

/**
 * Calls `open` when a person presses a key that opens a dialog. While a dialog is open, these keys
 * do nothing. In a field, `/` and `?` are ordinary characters.
 */
export function useShortcuts(open: (dialog: ShortcutDialog) => void): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const dialog = dialogOf(event);
      if (dialog === null || document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      open(dialog);
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [open]);
}

function dialogOf({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent): ShortcutDialog | null {
  if ((ctrlKey || metaKey) && !altKey && key.toLowerCase() === "k") return "search";
  const isTyping = target instanceof HTMLElement && target.closest("input, textarea, select") !== null;
  if (isTyping || ctrlKey || metaKey || altKey) return null;
  if (key === "/") return "search";
  return key === "?" ? "shortcuts" : null;
}
