/**
 * The documentation site. Each page is rendered from Markdown at its first request, and kept in
 * memory: there are about seventy pages.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

import { errorCodes, errorPage, errorTables } from "./error-pages.ts";
import { addressOf, DOCS, pageHtml } from "./layout.ts";
import { linkTarget, type RenderedPage, renderPage } from "./markdown.ts";
import { ERRORS_PATH, PAGES } from "./pages.ts";

const FOLDER = path.resolve(import.meta.dirname, "../../../../../../docs");
const ASSETS_FOLDER = path.resolve(import.meta.dirname, "../../../../assets");
/** In the page about errors, this comment is replaced by the tables of all codes. */
const ERROR_TABLES = "<!-- all codes -->";
const NOT_FOUND = "# Page not found\n\nThere is no such page. Choose a page from the list, or search.\n";
/** Longest text of a section in the search index, in characters. */
const MAX_INDEXED_CHARACTERS = 600;

/** A file of the site. */
export interface SiteFile {
  readonly contentType: string;
  readonly text: string;
}

/** The documents of the API, and where the site shows them. */
const REFERENCES: Readonly<Record<string, string>> = {
  "reference/openapi.json": `${DOCS}/reference`,
  "reference/asyncapi.json": "/asyncapi.json",
};

/** Folder below `docs` with the examples to copy. The site serves each file as text. */
const EXAMPLES = "examples";
const HTML = "text/html; charset=utf-8";
const TEXT = "text/plain; charset=utf-8";
const ASSETS: Readonly<Record<string, string>> = {
  "style.css": "text/css; charset=utf-8",
  "script.js": "text/javascript; charset=utf-8",
};

/** A link of a page that leads nowhere. */
export interface BrokenLink {
  readonly page: string;
  readonly target: string;
}

/**
 * Serves files by their path below `/docs`. A process needs only one object of this class, which
 * keeps all rendered pages and the search index.
 */
export class DocsSite {
  readonly #pages = new Map<string, RenderedPage>();
  readonly #codes = new Set(errorCodes());
  readonly #examples = exampleFiles();
  #searchIndex: string | null = null;

  /** Paths of all pages, below `/docs`. */
  paths(): string[] {
    return [...PAGES.map((page) => page.path), ...[...this.#codes].map((code) => `${ERRORS_PATH}/${code}`)];
  }

  /** Returns the file at a path below `/docs`; null if there is none. */
  file(wanted: string): SiteFile | null {
    if (wanted === "search.json") return { contentType: "application/json; charset=utf-8", text: this.#search() };
    const asset = /^assets\/([a-z]+\.(?:css|js))$/.exec(wanted)?.[1];
    if (asset !== undefined) return assetFile(asset);
    if (this.#examples.has(wanted)) return { contentType: TEXT, text: readFileSync(path.join(FOLDER, wanted), "utf8") };
    return this.paths().includes(wanted) ? { contentType: HTML, text: pageHtml(wanted, this.page(wanted)) } : null;
  }

  /** The page of a 404. */
  notFound(): SiteFile {
    return {
      contentType: HTML,
      text: pageHtml(
        "not-found",
        renderPage(NOT_FOUND, () => null),
      ),
    };
  }

  /** Renders a page at its first use. @throws Error for a path not in {@link DocsSite.paths}. */
  page(wanted: string): RenderedPage {
    const known = this.#pages.get(wanted);
    if (known !== undefined) return known;
    const { file, text } = sourceOf(wanted);
    const page = renderPage(text, (target) => resolve(file, target, this.#examples));
    this.#pages.set(wanted, page);
    return page;
  }

  /** Links within the site whose page or heading does not exist. */
  brokenLinks(): BrokenLink[] {
    return this.paths().flatMap((from) => {
      const targets = [...this.page(from).html.matchAll(/href="([^"]+)"/g)].map(([, target = ""]) => target);
      return targets.filter((target) => !this.#leadsSomewhere(from, target)).map((target) => ({ page: from, target }));
    });
  }

  #leadsSomewhere(from: string, target: string): boolean {
    if (target.startsWith("https://")) return true;
    if (["/openapi.json", "/asyncapi.json", `${DOCS}/reference`].includes(target)) return true;
    const [address = "", anchor] = target.split("#", 2);
    const wanted = address === "" ? from : address.replace(DOCS, "").replace(/^\//, "");
    if (address !== "" && !address.startsWith(DOCS)) return false;
    if (this.#examples.has(wanted)) return true;
    if (!this.paths().includes(wanted)) return false;
    return anchor === undefined || this.page(wanted).html.includes(`id="${anchor}"`);
  }

  #search(): string {
    this.#searchIndex ??= JSON.stringify(
      this.paths().flatMap((wanted) => {
        const { title, texts } = this.page(wanted);
        // All pages of codes have the same headings, so each page is one entry under its code.
        if (wanted.startsWith(`${ERRORS_PATH}/`)) {
          const text = texts.map((section) => section.text).join("");
          return [
            {
              address: addressOf(wanted),
              title: "Errors",
              heading: title,
              text: text.slice(0, MAX_INDEXED_CHARACTERS),
            },
          ];
        }
        return texts.map(({ anchor, heading, text }) => ({
          address: `${addressOf(wanted)}#${anchor}`,
          title,
          heading,
          text: text.slice(0, MAX_INDEXED_CHARACTERS),
        }));
      }),
    );
    return this.#searchIndex;
  }
}

/** Paths of all examples below `docs`. They have the same paths below `/docs` on the site. */
function exampleFiles(): ReadonlySet<string> {
  const found = readdirSync(path.join(FOLDER, EXAMPLES), { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  return new Set(files.map((file) => path.relative(FOLDER, file)));
}

function assetFile(name: string): SiteFile | null {
  const contentType = ASSETS[name];
  if (contentType === undefined) return null;
  return { contentType, text: readFileSync(path.join(ASSETS_FOLDER, `docs-${name}`), "utf8") };
}

function sourceOf(wanted: string): { readonly file: string; readonly text: string } {
  if (wanted.startsWith(`${ERRORS_PATH}/`)) {
    return { file: `guides/${wanted}.md`, text: errorPage(wanted.slice(ERRORS_PATH.length + 1)) };
  }
  const page = PAGES.find(({ path: known }) => known === wanted);
  if (page === undefined) throw new Error(`the site has no page ${wanted}`);
  const text = readFileSync(path.join(FOLDER, page.file), "utf8");
  return { file: page.file, text: text.replace(ERROR_TABLES, () => errorTables()) };
}

/**
 * Rewrites a link between Markdown files to an address of the site. Null: the file is not on the
 * site, or the target has a scheme other than https.
 */
function resolve(from: string, target: string, examples: ReadonlySet<string>): string | null {
  if (/^(https:|#|\/)/.test(target)) return target;
  if (target.includes(":")) return null;
  const { file, anchor } = linkTarget(from, target);
  const reference = REFERENCES[file];
  if (reference !== undefined) return reference;
  if (examples.has(file)) return `${DOCS}/${file}`;
  const page = PAGES.find((known) => path.posix.normalize(known.file) === path.posix.normalize(file));
  if (page === undefined) return null;
  return `${addressOf(page.path)}${anchor === "" ? "" : `#${anchor}`}`;
}
