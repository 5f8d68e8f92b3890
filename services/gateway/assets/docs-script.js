// Adds tabs, copy buttons and the search. Without this script a page still shows its whole text.
"use strict";

const CHOICE = "kapi-docs-language";

function stored() {
  try {
    return localStorage.getItem(CHOICE);
  } catch {
    return null;
  }
}

function store(language) {
  try {
    localStorage.setItem(CHOICE, language);
  } catch {
    // The browser blocks storage: the choice is lost when the reader leaves the page.
  }
}

function showTabs(language) {
  for (const group of document.querySelectorAll(".tabs")) {
    const panels = [...group.querySelectorAll("section")];
    const shown = panels.find((panel) => panel.dataset.tab === language) ?? panels[0];
    for (const panel of panels) panel.hidden = panel !== shown;
    for (const tab of group.querySelectorAll("[role=tab]")) {
      const isShown = tab.textContent === shown.dataset.tab;
      tab.setAttribute("aria-selected", String(isShown));
      tab.tabIndex = isShown ? 0 : -1;
    }
  }
}

for (const [number, group] of [...document.querySelectorAll(".tabs")].entries()) {
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Language");
  for (const panel of group.querySelectorAll("section")) {
    panel.querySelector("h4").remove();
    panel.id = `panel-${number}-${panel.dataset.tab}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-label", panel.dataset.tab);
    const tab = document.createElement("button");
    tab.type = "button";
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id);
    tab.textContent = panel.dataset.tab;
    tab.addEventListener("click", () => {
      store(panel.dataset.tab);
      showTabs(panel.dataset.tab);
    });
    list.append(tab);
  }
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const tabs = [...list.children];
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  });
  group.prepend(list);
}
showTabs(stored());

for (const block of document.querySelectorAll("pre")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", () => {
    const text = block.querySelector("code").textContent;
    // `clipboard` is undefined except over https and on localhost.
    const done = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"));
    done.then(
      () => (button.textContent = "Copied"),
      () => (button.textContent = "Select and copy"),
    );
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  const frame = document.createElement("div");
  frame.className = "code";
  block.replaceWith(frame);
  frame.append(block, button);
}

const narrow = matchMedia("(max-width: 900px)");
const pages = document.querySelector("nav details");
if (narrow.matches) pages.open = false;

const dialog = document.getElementById("search");
const input = document.getElementById("search-text");
const results = document.getElementById("search-results");
const openButton = document.getElementById("search-open");
let index = null;

async function openSearch() {
  dialog.showModal();
  input.focus();
  try {
    index ??= await (await fetch("/docs/search.json")).json();
    showResults();
  } catch {
    showText("The search could not be loaded. Close it, and open it again.");
  }
}

function showText(text) {
  const item = document.createElement("li");
  item.textContent = text;
  results.replaceChildren(item);
}

function scoreOf({ title, heading, text }, words) {
  let score = 0;
  for (const word of words) {
    const at = [heading, title, text].findIndex((part) => part.toLowerCase().includes(word));
    if (at < 0) return 0;
    score += 3 - at;
  }
  return score;
}

function showResults() {
  if (index === null) return;
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = index
    .map((entry) => ({ entry, score: words.length === 0 ? 0 : scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, 12);
  results.replaceChildren(
    ...found.map(({ entry }) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = entry.address;
      const heading = document.createElement("strong");
      heading.textContent = entry.heading;
      const where = document.createElement("span");
      where.textContent = entry.title;
      link.append(heading, where);
      link.addEventListener("click", () => dialog.close());
      item.append(link);
      return item;
    }),
  );
  if (words.length > 0 && found.length === 0) showText(`Nothing found for “${input.value}”.`);
}

openButton.hidden = false;
openButton.addEventListener("click", () => void openSearch());
input.addEventListener("input", showResults);
dialog.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  results.querySelector("a")?.click();
});
dialog.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  const stops = [input, ...results.querySelectorAll("a")];
  stops[Math.min(Math.max(stops.indexOf(document.activeElement) + step, 0), stops.length - 1)].focus();
});
document.addEventListener("keydown", (event) => {
  const isTyping = ["INPUT", "TEXTAREA"].includes(document.activeElement?.tagName ?? "");
  const isShortcut = (event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !isTyping);
  if (!isShortcut || dialog.open) return;
  event.preventDefault();
  void openSearch();
});
