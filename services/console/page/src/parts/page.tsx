import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { movesSoFar } from "../router.tsx";

interface PageProps {
  readonly title: string;
  /** Buttons beside the heading. */
  readonly actions?: ComponentChildren;
  /** Whether the heading gets the focus although the address has not changed. */
  readonly focused?: boolean;
  readonly children: ComponentChildren;
}

/**
 * A page. Its heading gets the focus after a navigation, so that screen readers announce it and Tab
 * continues from it.
 */
export function Page({ title, actions, focused = false, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (focused || movesSoFar() > 0) heading.current?.focus();
  }, [focused]);
  useEffect(() => {
    document.title = `${title} · kapi console`;
  }, [title]);
  return (
    <>
      <div class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {actions === undefined ? null : <div class="actions">{actions}</div>}
      </div>
      {children}
    </>
  );
}
