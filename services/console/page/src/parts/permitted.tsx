import type { ComponentChildren } from "preact";

import { useSession } from "../api/context.ts";
import type { ConsolePermission } from "../api/shapes.ts";

interface PermittedProps {
  readonly to: ConsolePermission;
  /** A button or a form. */
  readonly children: ComponentChildren;
}

/** Shows its content only to people whose role has the permission `to`. The API checks it too. */
export function Permitted({ to, children }: PermittedProps) {
  return useSession().permissions.includes(to) ? <>{children}</> : null;
}
