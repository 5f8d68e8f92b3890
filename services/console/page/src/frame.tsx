/** The frame of all pages after the sign-in: header with search and time zone, and navigation. */
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";

import type { ConsoleApi } from "./api/console-api.ts";
import { SignedInContext } from "./api/context.ts";
import type { ConsoleSession } from "./api/shapes.ts";
import { FIRST_PAGE, navigationFor } from "./navigation.ts";
import { lazyPage } from "./parts/lazy-page.tsx";
import { Problem } from "./parts/notice.tsx";
import { useAction } from "./parts/use-data.ts";
import { ZoneChoice } from "./parts/zone-choice.tsx";
import { Link, type PageAddress } from "./router.tsx";
import { useShortcuts } from "./search/use-shortcuts.ts";

const SearchDialog = lazyPage(async () => (await import("./search/search-dialog.tsx")).SearchDialog);
const ShortcutsDialog = lazyPage(async () => (await import("./search/shortcuts-dialog.tsx")).ShortcutsDialog);

interface FrameProps {
  readonly api: ConsoleApi;
  readonly session: ConsoleSession;
  readonly address: PageAddress;
  readonly onSignedOut: () => void;
  readonly children: ComponentChildren;
}

/** The header and the navigation around a page. */
export function Frame({ api, session, address, onSignedOut, children }: FrameProps) {
  const signedIn = useMemo(() => ({ api, session }), [api, session]);
  const signOut = useAction(async () => {
    await api.signOut();
    onSignedOut();
  });
  const [shown = FIRST_PAGE] = address.segments;
  const [dialog, setDialog] = useState<"search" | "shortcuts" | null>(null);
  useShortcuts(setDialog);
  const close = useCallback(() => setDialog(null), []);
  return (
    <SignedInContext.Provider value={signedIn}>
      <a class="skip" href="#page">
        Skip to content
      </a>
      <header class="top">
        <span class="brand">kapi console</span>
        <span class="organization">{session.organization.name}</span>
        <button type="button" class="search" aria-keyshortcuts="Control+K" onClick={() => setDialog("search")}>
          Search <kbd>Ctrl K</kbd>
        </button>
        <span class="person">
          <ZoneChoice />
          <Link to="/profile" current={shown === "profile"}>
            {session.user.name}
          </Link>
          <button type="button" class="plain" disabled={signOut.busy} onClick={signOut.run}>
            Sign out
          </button>
        </span>
      </header>
      <Problem failure={signOut.failure} />
      <Navigation session={session} shown={shown} />
      <main id="page" tabIndex={-1}>
        {children}
      </main>
      {dialog === "search" ? <SearchDialog onClose={close} /> : null}
      {dialog === "shortcuts" ? <ShortcutsDialog onClose={close} /> : null}
    </SignedInContext.Provider>
  );
}

interface NavigationProps {
  readonly session: ConsoleSession;
  /** First segment of the address. */
  readonly shown: string;
}

/** Links to the pages, in groups. On a narrow screen a button shows and hides them. */
function Navigation({ session, shown }: NavigationProps) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [shown]);
  const groups = navigationFor(session.permissions);
  return (
    <nav class="main-nav" aria-label="Pages">
      <button
        type="button"
        class="menu"
        aria-expanded={isOpen}
        aria-controls="navigation"
        onClick={() => setOpen(!isOpen)}
      >
        Menu
      </button>
      <div id="navigation" class={isOpen ? "groups open" : "groups"}>
        {groups.map(({ title, pages }) => (
          <div key={title} class="group-of-pages">
            <span id={`navigation-${title}`} class="group-title">
              {title}
            </span>
            <ul aria-labelledby={`navigation-${title}`}>
              {pages.map(({ name, title: page }) => (
                <li key={name}>
                  <Link to={`/${name}`} current={shown === name}>
                    {page}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </div>
    </nav>
  );
}
