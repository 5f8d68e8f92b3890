import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/**
 * Whether the content of an element is wider than the element, so that the element scrolls
 * sideways. Only then must the keyboard reach the element.
 */
export function useOverflow(container: RefObject<HTMLElement | null>): boolean {
  const [overflows, setOverflows] = useState(false);
  useEffect(() => {
    const element = container.current;
    if (element === null) return undefined;
    const compare = (): void => setOverflows(element.scrollWidth > element.clientWidth);
    const sizes = new ResizeObserver(compare);
    sizes.observe(element);
    for (const child of element.children) sizes.observe(child);
    return () => sizes.disconnect();
  }, [container]);
  return overflows;
}
