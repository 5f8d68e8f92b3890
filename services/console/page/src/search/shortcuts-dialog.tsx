import { Dialog } from "../parts/dialog.tsx";

/** Keys that work on every page. */
const SHORTCUTS: readonly (readonly [keys: string, effect: string])[] = [
  ["Ctrl K or ⌘ K", "Search"],
  ["/", "Search"],
  ["?", "Show these shortcuts"],
  ["↑ ↓ and Enter", "Choose and open a result of the search"],
  ["Escape", "Close a dialog"],
  ["Tab", "Next link, button or field; the first is “Skip to content”"],
];

/** Lists the keys that work on every page. */
export function ShortcutsDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose} busy={false}>
      <dl class="shortcuts">
        {SHORTCUTS.map(([keys, effect]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{effect}</dd>
          </div>
        ))}
      </dl>
      <div class="buttons">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
