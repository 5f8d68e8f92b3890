/** The pages of the documentation site, in the order of its navigation. */

/**
 * A page of the navigation. Pages about single error codes are not listed here: the site generates
 * them from the codes.
 */
export interface PageEntry {
  /** Path below `/docs`; empty for the first page. */
  readonly path: string;
  /** Markdown file in the folder `docs`, or `../CHANGELOG.md`. */
  readonly file: string;
  /** Title in the navigation. */
  readonly title: string;
}

interface Section {
  readonly title: string;
  readonly pages: readonly PageEntry[];
}

/**
 * Path of the page about errors, below `/docs`. The page of a code is below it: `errors/<code>`.
 */
export const ERRORS_PATH = "errors";

export const SECTIONS: readonly Section[] = [
  {
    title: "Start",
    pages: [
      { path: "", file: "guides/overview.md", title: "Overview" },
      { path: "quickstart", file: "guides/quickstart.md", title: "Quickstart" },
      { path: "command-line", file: "guides/command-line.md", title: "Command line" },
    ],
  },
  {
    title: "Concepts",
    pages: [
      { path: "idempotency", file: "guides/idempotency.md", title: "Idempotency" },
      { path: ERRORS_PATH, file: "guides/errors.md", title: "Errors" },
      { path: "credits-and-limits", file: "guides/credits-and-limits.md", title: "Credits and limits" },
      { path: "risk", file: "guides/risk.md", title: "Risk rules" },
      { path: "daily-digest", file: "guides/daily-digest.md", title: "Daily digests" },
      { path: "evidence", file: "guides/evidence.md", title: "Evidence" },
    ],
  },
  {
    title: "Streams",
    pages: [
      { path: "live-metrics", file: "live-metrics.md", title: "Live metrics" },
      { path: "webhooks", file: "webhooks.md", title: "Webhooks" },
    ],
  },
  {
    title: "Recipes",
    pages: [
      { path: "prop-firm-recipe", file: "guides/prop-firm-recipe.md", title: "Prop firm" },
      { path: "python", file: "guides/python.md", title: "Python" },
      { path: "testing", file: "guides/testing.md", title: "Testing" },
    ],
  },
  {
    title: "Versions",
    pages: [
      { path: "versions", file: "guides/versions.md", title: "Versions and deprecation" },
      { path: "changelog", file: "../CHANGELOG.md", title: "Changelog" },
    ],
  },
];

/** All pages, in the order of the navigation. */
export const PAGES: readonly PageEntry[] = SECTIONS.flatMap(({ pages }) => pages);
