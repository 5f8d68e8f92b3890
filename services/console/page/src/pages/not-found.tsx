import { Page } from "../parts/page.tsx";
import { Link } from "../router.tsx";

/** An address that names no page. */
export function NotFoundPage() {
  return (
    <Page title="Page not found">
      <p>
        The console has no page at this address. <Link to="/credits">Go to Credits</Link>
      </p>
    </Page>
  );
}
