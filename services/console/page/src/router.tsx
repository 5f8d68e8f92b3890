/** Pages are addresses below `/console`, so that each can be opened, kept and gone back to. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

const BASE = "/console";
const MOVED = "console:moved";

/** Where the person is. */
export interface Place {
  /** The parts of the path below the base, decoded. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

let moves = 0;

/** How often the page was changed without loading it anew; 0 for the page that was opened first. */
export function movesSoFar(): number {
  return moves;
}

/** Counts a change of the page that has no address of its own, such as signing in. */
export function countMove(): void {
  moves += 1;
}

/**
 * The place that a path below the base names. A part that is no valid text becomes one that names
 * nothing.
 */
export function placeOf(pathname: string, search: string): Place {
  const below = pathname.startsWith(BASE) ? pathname.slice(BASE.length) : pathname;
  const segments = below.split("/").filter((part) => part !== "");
  return { segments: segments.map(decoded), query: new URLSearchParams(search) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

/**
 * Goes to `path`, which begins with a slash and is below the base. `replace` leaves no way back to
 * the present one.
 */
export function go(path: string, options: { readonly replace?: boolean } = {}): void {
  if (options.replace === true) history.replaceState(null, "", BASE + path);
  else history.pushState(null, "", BASE + path);
  globalThis.dispatchEvent(new Event(MOVED));
}

/** The present place; the component is drawn again when it changes. */
export function usePlace(): Place {
  const [place, setPlace] = useState(() => placeOf(location.pathname, location.search));
  useEffect(() => {
    const moved = (): void => {
      countMove();
      setPlace(placeOf(location.pathname, location.search));
    };
    globalThis.addEventListener("popstate", moved);
    globalThis.addEventListener(MOVED, moved);
    return () => {
      globalThis.removeEventListener("popstate", moved);
      globalThis.removeEventListener(MOVED, moved);
    };
  }, []);
  return place;
}

interface LinkProps {
  readonly to: string;
  readonly class?: string;
  /** Whether it leads to the present page. */
  readonly current?: boolean;
  readonly children: ComponentChildren;
}

/** A link to another page of the console. A click with a modifier opens a tab, as with any link. */
export function Link({ to, current, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
    globalThis.scrollTo(0, 0);
  };
  return (
    <a href={BASE + to} onClick={follow} aria-current={current === true ? "page" : undefined} {...rest}>
      {children}
    </a>
  );
}

/** A part of a path from any text. */
export function part(text: string): string {
  return encodeURIComponent(text);
}
