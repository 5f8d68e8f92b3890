/** The pages of the navigation, in groups. A page is listed only if the role permits the page. */
import type { ConsolePermission } from "./api/shapes.ts";

interface NavigationPage {
  /** First segment of the address of the page. */
  readonly name: string;
  readonly title: string;
  readonly permission: ConsolePermission;
}

interface NavigationGroup {
  readonly title: string;
  readonly pages: readonly NavigationPage[];
}

const NAVIGATION: readonly NavigationGroup[] = [
  {
    title: "Trading",
    pages: [
      { name: "overview", title: "Overview", permission: "read" },
      { name: "accounts", title: "Accounts", permission: "read" },
      { name: "limits", title: "Limits", permission: "read" },
      { name: "breaches", title: "Breaches", permission: "read" },
      { name: "risk-templates", title: "Risk templates", permission: "read" },
      { name: "commands", title: "Commands", permission: "read" },
    ],
  },
  {
    title: "Integration",
    pages: [
      { name: "requests", title: "Requests", permission: "read" },
      { name: "webhooks", title: "Webhooks", permission: "read" },
      { name: "keys", title: "Keys", permission: "read" },
    ],
  },
  {
    title: "Organization",
    pages: [
      { name: "credits", title: "Credits", permission: "read" },
      { name: "servers", title: "Servers", permission: "read" },
      { name: "people", title: "People", permission: "people:manage" },
      { name: "audit", title: "Audit log", permission: "audit:read" },
    ],
  },
];

/** The page at the address `/console`. */
export const FIRST_PAGE = "overview";

/** The navigation for a person with these permissions. */
export function navigationFor(permissions: readonly ConsolePermission[]): readonly NavigationGroup[] {
  return NAVIGATION.map(({ title, pages }) => ({
    title,
    pages: pages.filter(({ permission }) => permissions.includes(permission)),
  })).filter(({ pages }) => pages.length > 0);
}
