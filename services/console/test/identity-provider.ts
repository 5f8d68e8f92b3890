import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import Provider from "oidc-provider";

/** The console as a client of the provider. */
export const CLIENT = { id: "kapi-console", secret: "a-secret-of-the-test-0123456789abcdef" };

/** A person at the provider. */
interface Identity {
  readonly email: string;
  readonly isVerified: boolean;
}

/** A running OpenID Connect provider. */
export interface TestProvider {
  readonly issuer: string;
  /** Sets the person who is signed in at the provider. */
  signIn(identity: Identity): void;
  /**
   * Follows the redirects from `location`; returns the first address that begins with the
   * `redirectUri` of {@link startIdentityProvider}.
   */
  follow(location: string): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Starts an OpenID Connect provider on this machine. It treats every visitor as the person of the
 * last `signIn`, who consents to everything. It redirects back only to `redirectUri`.
 */
export async function startIdentityProvider(redirectUri: string): Promise<TestProvider> {
  let identity: Identity = { email: "nobody@example.com", isVerified: true };
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [redirectUri],
        grant_types: ["authorization_code"],
        response_types: ["code"],
      },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ sub, email: identity.email, email_verified: identity.isVerified }),
    }),
  });
  const answer = provider.callback();
  server.on("request", (request, response) => {
    if (request.url?.startsWith("/interaction/") !== true) return void answer(request, response);
    return void (async () => {
      const { prompt, params, session } = await provider.interactionDetails(request, response);
      if (prompt.name === "login") {
        return provider.interactionFinished(request, response, { login: { accountId: identity.email } });
      }
      const grant = new provider.Grant({ accountId: session?.accountId ?? "", clientId: String(params["client_id"]) });
      grant.addOIDCScope("openid email");
      return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
    })();
  });
  return {
    issuer,
    signIn: (given) => {
      identity = given;
    },
    follow: async (location) => {
      const cookies = new Map<string, string>();
      let next = location;
      while (!next.startsWith(redirectUri)) {
        const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join("; ");
        const response = await fetch(new URL(next, issuer), { redirect: "manual", headers: { cookie } });
        for (const line of response.headers.getSetCookie()) {
          const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
          cookies.set(name, value);
        }
        const followed = response.headers.get("location");
        if (followed === null) throw new Error(`the provider answers ${response.status} without a redirect`);
        next = followed;
      }
      return next;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
