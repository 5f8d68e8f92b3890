/** The HTML of a page: navigation, content, the headings of the page. Works without JavaScript. */
import { ERRORS_PATH, type PageEntry, PAGES, SECTIONS } from "./pages.ts";
import type { RenderedPage } from "./markdown.ts";

/** Path of the site. */
export const DOCS = "/docs";

/** The address of a page. */
export function addressOf(path: string): string {
  return path === "" ? DOCS : `${DOCS}/${path}`;
}

const SUFFIX = "kapi";

/** Returns the HTML of a page. `path` is its path below `/docs`. */
export function pageHtml(path: string, { html, title, description, headings }: RenderedPage): string {
  const current = path.startsWith(`${ERRORS_PATH}/`) ? ERRORS_PATH : path;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} · ${SUFFIX}</title>
<meta name="description" content="${escape(description)}">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${DOCS}/assets/style.css">
<script src="${DOCS}/assets/script.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header>
<a class="home" href="${DOCS}">kapi <span>documentation</span></a>
<button id="search-open" type="button" hidden>Search <kbd>Ctrl K</kbd></button>
<a href="${DOCS}/reference">API reference</a>
</header>
<div class="page">
<nav aria-label="Pages"><details open><summary>Pages</summary>${navigation(current)}</details></nav>
<main id="content"><article>${html}</article>${neighbours(current)}</main>
${headings.length > 1 ? onThisPage(headings) : "<aside></aside>"}
</div>
<dialog id="search" aria-label="Search"><form method="dialog"><input id="search-text" type="search" placeholder="Search the documentation" aria-label="Search the documentation" autocomplete="off"></form><ol id="search-results"></ol></dialog>
</body>
</html>
`;
}

function navigation(current: string): string {
  const link = ({ path, title }: PageEntry): string => {
    const marked = path === current ? ' aria-current="page"' : "";
    return `<li><a href="${addressOf(path)}"${marked}>${escape(title)}</a></li>`;
  };
  const sections = SECTIONS.map(({ title, pages }) => `<h2>${escape(title)}</h2><ul>${pages.map(link).join("")}</ul>`);
  return `${sections.join("")}<h2>Reference</h2><ul><li><a href="${DOCS}/reference">API reference</a></li><li><a href="/openapi.json">OpenAPI document</a></li><li><a href="/asyncapi.json">AsyncAPI document</a></li></ul>`;
}

function onThisPage(headings: RenderedPage["headings"]): string {
  const items = headings.map(
    ({ level, text, anchor }) => `<li class="level-${level}"><a href="#${anchor}">${escape(text)}</a></li>`,
  );
  return `<aside aria-label="On this page"><h2>On this page</h2><ul>${items.join("")}</ul></aside>`;
}

function neighbours(current: string): string {
  const index = PAGES.findIndex(({ path }) => path === current);
  const [before, after] = [PAGES[index - 1], PAGES[index + 1]];
  const link = (page: PageEntry | undefined, rel: string): string =>
    page === undefined || index < 0
      ? "<span></span>"
      : `<a rel="${rel}" href="${addressOf(page.path)}">${escape(page.title)}</a>`;
  return `<footer>${link(before, "prev")}${link(after, "next")}</footer>`;
}

/** Escapes text for HTML. */
function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
