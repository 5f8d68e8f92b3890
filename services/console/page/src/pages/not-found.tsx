import { Page } from "../parts/page.tsx";
import { Link } from "../router.tsx";

/** Shown for an unknown address. */
export function NotFoundPage() {
  return (
    <Page title="Page not found">
      <p>
        There is no page at this address. <Link to="/">Go to the overview</Link>
      </p>
    </Page>
  );
}
