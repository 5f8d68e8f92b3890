import { useEffect, useRef } from "preact/hooks";

import { Link } from "../router.tsx";

/** One tab, which has an address of its own. */
export interface Tab {
  readonly name: string;
  readonly title: string;
  readonly to: string;
  /** Shown beside the title. */
  readonly count?: number;
}

interface TabsProps {
  /** Name of the tabs for screen readers: "Parts of account 10000001". */
  readonly label: string;
  readonly tabs: readonly Tab[];
  /** The name of the tab shown. */
  readonly current: string;
}

/**
 * Links to the parts of a page. Each part has an address, so these are links and not buttons. The
 * arrow keys, Home and End move the focus between them; Enter opens a part.
 */
export function Tabs({ label, tabs, current }: TabsProps) {
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    const show = (): void => showCurrent(nav.current);
    show();
    addEventListener("resize", show);
    return () => removeEventListener("resize", show);
  }, [current]);
  useEffect(() => {
    const element = nav.current;
    const pressed = (event: KeyboardEvent): void => moveFocus(element, event);
    element?.addEventListener("keydown", pressed);
    return () => element?.removeEventListener("keydown", pressed);
  }, []);
  return (
    <nav ref={nav} class="tabs" aria-label={label}>
      <ul>
        {tabs.map(({ name, title, to, count }) => (
          <li key={name}>
            <Link to={to} current={name === current} keepsScroll>
              {title}
              {count === undefined ? null : <span class="count"> {count}</span>}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/**
 * For each key: the index of the link that gets the focus next. `index` is the link that has the
 * focus now, and `count` is the number of links.
 */
const MOVES: Readonly<Record<string, (index: number, count: number) => number>> = {
  ArrowRight: (index, count) => (index + 1) % count,
  ArrowLeft: (index, count) => (index + count - 1) % count,
  Home: () => 0,
  End: (_index, count) => count - 1,
};

function moveFocus(nav: HTMLElement | null, event: KeyboardEvent): void {
  const { key, altKey, ctrlKey, metaKey, shiftKey } = event;
  const links = [...(nav?.querySelectorAll("a") ?? [])];
  const index = links.findIndex((link) => link === document.activeElement);
  if (index < 0 || altKey || ctrlKey || metaKey || shiftKey || !Object.hasOwn(MOVES, key)) return;
  event.preventDefault();
  links[MOVES[key]?.(index, links.length) ?? index]?.focus();
}

/** Scrolls the current tab into view. On a narrow screen the tabs scroll sideways. */
function showCurrent(nav: HTMLElement | null): void {
  const link = nav?.querySelector<HTMLElement>("a[aria-current]");
  if (nav === null || link === null || link === undefined) return;
  const [box, around] = [link.getBoundingClientRect(), nav.getBoundingClientRect()];
  if (box.left < around.left) nav.scrollLeft -= around.left - box.left;
  else if (box.right > around.right) nav.scrollLeft += box.right - around.right;
}
