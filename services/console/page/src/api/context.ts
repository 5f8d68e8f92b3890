import { createContext } from "preact";
import { useContext } from "preact/hooks";

import type { ConsoleApi } from "./console-api.ts";
import type { ConsoleSession } from "./shapes.ts";

/** What every page below the sign-in has. */
export interface SignedIn {
  readonly api: ConsoleApi;
  readonly session: ConsoleSession;
}

export const SignedInContext = createContext<SignedIn | null>(null);

/** Who is signed in. */
export function useSession(): ConsoleSession {
  return useSignedIn().session;
}

/** The console's routes. */
export function useApi(): ConsoleApi {
  return useSignedIn().api;
}

function useSignedIn(): SignedIn {
  const context = useContext(SignedInContext);
  if (context === null) throw new Error("a page was drawn without a session");
  return context;
}
