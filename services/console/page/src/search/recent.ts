/** The search results that a person opened last, kept in this browser. */
import type { Hit } from "./results.ts";

const STORED = "kapi:found:";
const MAX_KEPT = 5;

/** The last opened results, newest first; none if the browser forbids storage. */
export function recentHits(userId: string): readonly Hit[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(STORED + userId) ?? "[]");
    return Array.isArray(kept) ? kept.filter(isHit).slice(0, MAX_KEPT) : [];
  } catch {
    return [];
  }
}

/** Adds an opened result to the last opened ones; does nothing if the browser forbids storage. */
export function keepHit(userId: string, hit: Hit): void {
  const kept = [hit, ...recentHits(userId).filter(({ to }) => to !== hit.to)].slice(0, MAX_KEPT);
  try {
    localStorage.setItem(STORED + userId, JSON.stringify(kept));
  } catch {
    // The browser forbids storage: nothing is kept.
  }
}

function isHit(value: unknown): value is Hit {
  if (typeof value !== "object" || value === null) return false;
  const { to, title, detail } = value as Partial<Record<keyof Hit, unknown>>;
  return typeof to === "string" && to.startsWith("/") && typeof title === "string" && typeof detail === "string";
}
