/** Addresses of pages, below `/console`: each page can be opened and bookmarked. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

const BASE = "/console";
const MOVED = "console:moved";

/** The address of a page. */
export interface PageAddress {
  /** The segments of the path below `/console`, decoded. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

let moves = 0;

/**
 * 0 until the first navigation after the console was loaded, then above 0. One navigation can count
 * several times: each component that uses the address counts it.
 */
export function movesSoFar(): number {
  return moves;
}

/** Counts a navigation. Signing in counts too: it shows another page at the same address. */
export function countMove(): void {
  moves += 1;
}

/**
 * The address of a page from its path and query. A segment that cannot be decoded becomes an empty
 * segment.
 */
export function pageAddressOf(pathname: string, search: string): PageAddress {
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

interface Move {
  /** Replaces the current entry of the history. */
  readonly replace?: boolean;
  /** Kept with the entry of the history, also when the page is reloaded. */
  readonly state?: unknown;
}

/** Navigates to `path`, which is relative to `/console` and starts with a slash. */
export function go(path: string, { replace = false, state = null }: Move = {}): void {
  if (replace) history.replaceState(state, "", BASE + path);
  else history.pushState(state, "", BASE + path);
  globalThis.dispatchEvent(new Event(MOVED));
}

/** Navigates to the current path with another query. */
export function goToQuery(query: URLSearchParams, move: Move = {}): void {
  const text = query.toString();
  go(location.pathname.slice(BASE.length) + (text === "" ? "" : `?${text}`), move);
}

/** The address of the current page. A change of the address renders the component again. */
export function usePageAddress(): PageAddress {
  const [address, setAddress] = useState(() => pageAddressOf(location.pathname, location.search));
  useEffect(() => {
    const moved = (): void => {
      countMove();
      setAddress(pageAddressOf(location.pathname, location.search));
    };
    globalThis.addEventListener("popstate", moved);
    globalThis.addEventListener(MOVED, moved);
    return () => {
      globalThis.removeEventListener("popstate", moved);
      globalThis.removeEventListener(MOVED, moved);
    };
  }, []);
  return address;
}

interface LinkProps {
  readonly to: string;
  readonly class?: string;
  /** Whether the link leads to the current page. */
  readonly current?: boolean;
  /** Whether the scroll position stays, for example after a click on a tab. */
  readonly keepsScroll?: boolean;
  readonly children: ComponentChildren;
}

/**
 * A link to another page of the console. A click with a modifier key does what the browser does for
 * any link, such as opening a tab.
 */
export function Link({ to, current, keepsScroll = false, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
    if (!keepsScroll) globalThis.scrollTo(0, 0);
  };
  return (
    <a href={BASE + to} onClick={follow} aria-current={current === true ? "page" : undefined} {...rest}>
      {children}
    </a>
  );
}

/** Encodes a text as a segment of a path. */
export function part(text: string): string {
  return encodeURIComponent(text);
}
