import { Link } from "../router.tsx";

/** One tab: a page of its own address. */
export interface Tab {
  readonly name: string;
  readonly title: string;
  readonly to: string;
  /** Shown beside the title. */
  readonly count?: number;
}

interface TabsProps {
  /** What the tabs belong to: "Account 10000001". */
  readonly label: string;
  readonly tabs: readonly Tab[];
  /** The name of the tab shown. */
  readonly current: string;
}

/** Links to the parts of a page. Each part has an address, so these are links and not buttons. */
export function Tabs({ label, tabs, current }: TabsProps) {
  return (
    <nav class="tabs" aria-label={label}>
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
