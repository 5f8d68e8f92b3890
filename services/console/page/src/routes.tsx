/**
 * Which address shows which page. The script of a page is loaded when the page is first shown, or
 * by `preloadPageAt`. The accounts page is part of the first script, because people open it often.
 */
import { type ComponentChildren, isValidElement } from "preact";

import type { ConsoleSession } from "./api/shapes.ts";
import { FIRST_PAGE } from "./navigation.ts";
import { AccountsPage } from "./pages/accounts.tsx";
import { NotFoundPage } from "./pages/not-found.tsx";
import { lazyPage, preloadPage } from "./parts/lazy-page.tsx";
import type { PageAddress } from "./router.tsx";

const AccountPage = lazyPage(async () => (await import("./pages/account/account.tsx")).AccountPage);
const AuditPage = lazyPage(async () => (await import("./pages/audit.tsx")).AuditPage);
const BreachesPage = lazyPage(async () => (await import("./pages/breaches.tsx")).BreachesPage);
const BreachPage = lazyPage(async () => (await import("./pages/breach.tsx")).BreachPage);
const CommandPage = lazyPage(async () => (await import("./pages/command.tsx")).CommandPage);
const CommandsPage = lazyPage(async () => (await import("./pages/commands.tsx")).CommandsPage);
const CreditsPage = lazyPage(async () => (await import("./pages/credits.tsx")).CreditsPage);
const KeysPage = lazyPage(async () => (await import("./pages/keys.tsx")).KeysPage);
const PeoplePage = lazyPage(async () => (await import("./pages/people.tsx")).PeoplePage);
const LimitsPage = lazyPage(async () => (await import("./pages/limits.tsx")).LimitsPage);
const OverviewPage = lazyPage(async () => (await import("./pages/overview.tsx")).OverviewPage);
const ProfilePage = lazyPage(async () => (await import("./pages/profile.tsx")).ProfilePage);
const RequestPage = lazyPage(async () => (await import("./pages/request.tsx")).RequestPage);
const RequestsPage = lazyPage(async () => (await import("./pages/requests.tsx")).RequestsPage);
const RiskTemplatePage = lazyPage(async () => (await import("./pages/risk/template.tsx")).RiskTemplatePage);
const RiskTemplatesPage = lazyPage(async () => (await import("./pages/risk/templates.tsx")).RiskTemplatesPage);
const ServersPage = lazyPage(async () => (await import("./pages/servers.tsx")).ServersPage);
const WebhookEventPage = lazyPage(async () => (await import("./pages/webhook-event.tsx")).WebhookEventPage);
const WebhookPage = lazyPage(async () => (await import("./pages/webhook.tsx")).WebhookPage);
const WebhooksPage = lazyPage(async () => (await import("./pages/webhooks.tsx")).WebhooksPage);

/** Functions that a page calls after it has changed the session. */
export interface SessionChanges {
  /** Continues with another session, for example after a change of the password. */
  readonly onNewSession: (session: ConsoleSession) => void;
  /** Reads the session again, for example after a second factor was added. */
  readonly onChanged: () => Promise<void>;
}

interface Visit extends SessionChanges {
  /** A parameter of the path. */
  readonly at: (name: string) => string;
  readonly query: URLSearchParams;
}

interface Route {
  /** `:name` for a parameter. */
  readonly path: string;
  readonly page: (visit: Visit) => ComponentChildren;
}

const ROUTES: readonly Route[] = [
  { path: "accounts", page: ({ query }) => <AccountsPage query={query} /> },
  {
    path: "accounts/:server/:account",
    page: ({ at, query }) => <AccountPage serverId={at("server")} accountNumber={at("account")} query={query} />,
  },
  {
    path: "accounts/:server/:account/breaches/:breach",
    page: ({ at }) => <BreachPage serverId={at("server")} accountNumber={at("account")} breachId={at("breach")} />,
  },
  { path: "audit", page: ({ query }) => <AuditPage query={query} /> },
  { path: "breaches", page: () => <BreachesPage /> },
  { path: "commands", page: ({ query }) => <CommandsPage query={query} /> },
  {
    path: "commands/:server/:command",
    page: ({ at }) => <CommandPage serverId={at("server")} commandId={at("command")} />,
  },
  { path: "credits", page: () => <CreditsPage /> },
  { path: "keys", page: () => <KeysPage /> },
  { path: "people", page: ({ query }) => <PeoplePage query={query} /> },
  {
    path: "profile",
    page: ({ onNewSession, onChanged }) => <ProfilePage onNewSession={onNewSession} onChanged={onChanged} />,
  },
  { path: "limits", page: () => <LimitsPage /> },
  { path: "overview", page: () => <OverviewPage /> },
  { path: "requests", page: () => <RequestsPage /> },
  { path: "requests/:id", page: ({ at }) => <RequestPage id={at("id")} /> },
  { path: "risk-templates", page: () => <RiskTemplatesPage /> },
  {
    path: "risk-templates/:server/:template",
    page: ({ at }) => <RiskTemplatePage serverId={at("server")} name={at("template")} />,
  },
  { path: "servers", page: () => <ServersPage /> },
  { path: "webhooks", page: () => <WebhooksPage /> },
  { path: "webhooks/events/:event", page: ({ at }) => <WebhookEventPage eventId={at("event")} /> },
  {
    path: "webhooks/:endpoint",
    page: ({ at, query }) => <WebhookPage endpointId={at("endpoint")} query={query} />,
  },
];

/** Begins to load the script of the page of an address, for example while the session is read. */
export function preloadPageAt(address: PageAddress): void {
  const page = pageAt(address, { onNewSession: () => undefined, onChanged: () => Promise.resolve() });
  if (isValidElement(page)) preloadPage(page.type);
}

/** The page of an address. */
export function pageAt({ segments, query }: PageAddress, changes: SessionChanges): ComponentChildren {
  const asked = segments.length === 0 ? [FIRST_PAGE] : segments;
  for (const { path, page } of ROUTES) {
    const params = paramsOf(path, asked);
    if (params !== null) return page({ at: (name) => params.get(name) ?? "", query, ...changes });
  }
  return <NotFoundPage />;
}

/** The parameters of a path that matches the segments; null: it does not match. */
function paramsOf(path: string, segments: readonly string[]): ReadonlyMap<string, string> | null {
  const parts = path.split("/");
  if (parts.length !== segments.length) return null;
  const params = new Map<string, string>();
  for (const [index, part] of parts.entries()) {
    const segment = segments[index] ?? "";
    if (part.startsWith(":")) params.set(part.slice(1), segment);
    else if (part !== segment) return null;
  }
  return params;
}
