import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

import { Notice } from "./notice.tsx";

/** The functions that load the scripts of lazy pages, by page. */
const loaders = new WeakMap<object, () => Promise<unknown>>();

/** Begins to load the script of a lazy page before the page is shown; ignores any other value. */
export function preloadPage(page: unknown): void {
  if (typeof page !== "function") return;
  // A failure is shown when the page itself loads the script.
  loaders
    .get(page)?.()
    .catch(() => undefined);
}

/**
 * A page whose script is loaded when the page is shown for the first time. `load` returns the
 * component of the page.
 */
export function lazyPage<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  function LazyPage(props: Props) {
    const [Shown, setShown] = useState<ComponentType<Props> | null>(() => loaded);
    const [hasFailed, setFailed] = useState(false);
    useEffect(() => {
      if (loaded !== null) return undefined;
      let isUnmounted = false;
      load()
        .then((page) => {
          loaded = page;
          if (!isUnmounted) setShown(() => page);
        })
        .catch(() => {
          if (!isUnmounted) setFailed(true);
        });
      return () => {
        isUnmounted = true;
      };
    }, []);
    if (hasFailed) return <ReloadNotice />;
    return Shown === null ? <p class="hidden">Loading the page…</p> : <Shown {...props} />;
  }
  loaders.set(LazyPage, load);
  return LazyPage;
}

/** After an upgrade of kapi, scripts of the previous release no longer exist. */
function ReloadNotice() {
  return (
    <Notice kind="problem">
      This page could not be loaded. The console may have been updated.{" "}
      <button type="button" class="plain" onClick={() => location.reload()}>
        Reload the console
      </button>
    </Notice>
  );
}
