import { createContext } from "preact";
import { useContext } from "preact/hooks";

import type { ConsoleApi } from "./console-api.ts";
import type { ConsoleSession } from "./shapes.ts";

/** The context of every page after the sign-in. */
export interface SignedIn {
  readonly api: ConsoleApi;
  readonly session: ConsoleSession;
}

/** The session and the API, for all components of a signed-in page. */
export const SignedInContext = createContext<SignedIn | null>(null);

/** The session: the signed-in person, the organization and the permissions. */
export function useSession(): ConsoleSession {
  return useSignedIn().session;
}

/** The requests of the console. */
export function useApi(): ConsoleApi {
  return useSignedIn().api;
}

function useSignedIn(): SignedIn {
  const context = useContext(SignedInContext);
  if (context === null) throw new Error("a page was rendered without a session");
  return context;
}

/** The session; null outside the pages after the sign-in. */
export function useOptionalSession(): ConsoleSession | null {
  return useContext(SignedInContext)?.session ?? null;
}
