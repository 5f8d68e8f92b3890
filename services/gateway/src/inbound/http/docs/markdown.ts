/**
 * Renders a Markdown file to HTML: highlighted code, tabs, anchors of headings, links within the
 * site.
 */
import path from "node:path";

import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import typescript from "highlight.js/lib/languages/typescript";
import MarkdownIt, { type Token } from "markdown-it";

for (const [name, language] of Object.entries({ bash, json, python, typescript }))
  hljs.registerLanguage(name, language);

/** A heading of a page, with the anchor that leads to it. */
export interface Heading {
  readonly level: number;
  readonly text: string;
  readonly anchor: string;
}

/** A rendered Markdown file. `html` is its content without the layout of the site (layout.ts). */
export interface RenderedPage {
  readonly html: string;
  /** The text of the first heading. */
  readonly title: string;
  /** The text of the first paragraph. */
  readonly description: string;
  /** Headings of the levels 2 and 3. */
  readonly headings: readonly Heading[];
  /** The text of each heading and of what follows it, for the search. */
  readonly texts: readonly { readonly anchor: string; readonly heading: string; readonly text: string }[];
}

/** Returns the address of a link on the site; null: the link becomes plain text. */
export type ResolveLink = (target: string) => string | null;

/** Names of languages of code blocks, and how they are shown and highlighted. */
const LANGUAGES: Readonly<Record<string, { readonly label: string; readonly highlight: string }>> = {
  sh: { label: "curl", highlight: "bash" },
  ts: { label: "TypeScript", highlight: "typescript" },
  python: { label: "Python", highlight: "python" },
  json: { label: "JSON", highlight: "json" },
};

/** The type of a code block in markdown-it. */
const CODE_BLOCK = "fence";
const PARAGRAPH = "paragraph_open";

const markdown = new MarkdownIt({ html: false, linkify: false });
/** A heading below the title ends with a link to itself. */
markdown.renderer.rules["heading_close"] = (tokens, index) => {
  const { tag } = tokens[index] ?? { tag: "" };
  if (tag === "h1") return "</h1>\n";
  const anchor = String(tokens[index - 2]?.attrGet("id"));
  const label = markdown.utils.escapeHtml(`Link to “${textOf(tokens[index - 1])}”`);
  return ` <a class="anchor" href="#${anchor}" aria-label="${label}">#</a></${tag}>\n`;
};

/** A wide table scrolls in a region that the keyboard reaches. */
markdown.renderer.rules["table_open"] = () =>
  '<div class="table" role="group" aria-label="Table" tabindex="0"><table>\n';
markdown.renderer.rules["table_close"] = () => "</table></div>\n";

/** Renders the text of a page. */
export function renderPage(text: string, resolve: ResolveLink): RenderedPage {
  const tokens = markdown.parse(text, {});
  const headings: Heading[] = [];
  const used = new Map<string, number>();
  for (const [index, token] of tokens.entries()) {
    if (token.type === "heading_open") {
      const inline = tokens[index + 1];
      const content = textOf(inline);
      const anchor = anchorOf(content, used);
      token.attrSet("id", anchor);
      headings.push({ level: Number(token.tag.slice(1)), text: content, anchor });
    }
    if (token.type === "inline") rewriteLinks(token.children ?? [], resolve);
  }
  return {
    html: withTabs(tokens),
    title: headings[0]?.text ?? "",
    description: textOf(tokens.find(({ type }, index) => type === "inline" && tokens[index - 1]?.type === PARAGRAPH)),
    headings: headings.filter(({ level }) => level === 2 || level === 3),
    texts: sectionTexts(tokens),
  };
}

/** The anchor of a heading, as GitHub makes it. */
function anchorOf(text: string, used: Map<string, number>): string {
  const slug = text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
  const count = used.get(slug) ?? 0;
  used.set(slug, count + 1);
  return count === 0 ? slug : `${slug}-${count}`;
}

function textOf(token: Token | undefined): string {
  return (token?.children ?? []).map(({ type, content }) => (type === "softbreak" ? " " : content)).join("");
}

/** A link to a file that is not on the site becomes plain text. */
function rewriteLinks(children: Token[], resolve: ResolveLink): void {
  let isPlain = false;
  for (const child of children) {
    if (child.type === "link_open") {
      const target = String(child.attrGet("href") ?? "");
      const address = resolve(target);
      isPlain = address === null;
      if (address !== null) child.attrSet("href", address);
    }
    if (isPlain && (child.type === "link_open" || child.type === "link_close")) {
      if (child.type === "link_close") isPlain = false;
      Object.assign(child, { type: "text", tag: "", nesting: 0, content: "", attrs: null });
    }
  }
}

/** Renders tokens. Code blocks that follow each other directly are one group of tabs. */
function withTabs(tokens: readonly Token[]): string {
  const parts: string[] = [];
  let rest: Token[] = [];
  const flush = (): void => {
    if (rest.length > 0) parts.push(markdown.renderer.render(rest, markdown.options, {}));
    rest = [];
  };
  for (let index = 0; index < tokens.length; index += 1) {
    const token = tokens[index];
    if (token?.type !== CODE_BLOCK || token.level > 0) {
      if (token !== undefined) rest.push(token);
      continue;
    }
    flush();
    const group = [token];
    for (let next = tokens[index + 1]; next?.type === CODE_BLOCK && next.level === 0; next = tokens[index + 1]) {
      group.push(next);
      index += 1;
    }
    parts.push(group.length === 1 ? codeBlock(token) : tabs(group));
  }
  flush();
  return parts.join("");
}

function tabs(blocks: readonly Token[]): string {
  const panels = blocks.map((block) => {
    const label = languageOf(block)?.label ?? "Text";
    return `<section data-tab="${label}"><h4>${label}</h4>${codeBlock(block)}</section>`;
  });
  return `<div class="tabs">${panels.join("")}</div>`;
}

function languageOf({ info }: Token): (typeof LANGUAGES)[string] | undefined {
  return LANGUAGES[info.split(" ", 1)[0] ?? ""];
}

function codeBlock(block: Token): string {
  const language = languageOf(block);
  const code =
    language === undefined
      ? markdown.utils.escapeHtml(block.content)
      : hljs.highlight(block.content, { language: language.highlight }).value;
  return `<pre tabindex="0"><code>${code}</code></pre>\n`;
}

/** The texts below each heading, without code blocks. */
function sectionTexts(tokens: readonly Token[]): RenderedPage["texts"] {
  const texts: { anchor: string; heading: string; text: string }[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.type === "heading_open") {
      texts.push({ anchor: String(token.attrGet("id")), heading: textOf(tokens[index + 1]), text: "" });
    } else if (token.type === "inline" && tokens[index - 1]?.type !== "heading_open") {
      const section = texts.at(-1);
      if (section !== undefined) section.text += `${textOf(token)} `;
    }
  }
  return texts;
}

/** Returns the file that a relative link of a file leads to, and its anchor. */
export function linkTarget(file: string, target: string): { readonly file: string; readonly anchor: string } {
  const [relative = "", anchor = ""] = target.split("#", 2);
  return { file: relative === "" ? file : path.posix.join(path.posix.dirname(file), relative), anchor };
}
