import * as client from "openid-client";

import type { IdentityProvider } from "../../domain/people-ports.ts";

/** Time for each request to the provider, in seconds. */
const REQUEST_TIMEOUT_S = 10;
const SCOPE = "openid email";
const LOCAL_HOSTS: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** The console's registration at a provider of OpenID Connect. */
export interface ProviderSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The address of the console to which the provider sends the browser back. */
  readonly redirectUri: string;
}

/**
 * The provider of OpenID Connect: authorization code flow with PKCE, state and nonce. Its metadata
 * is read at the first sign-in and kept, so that the console starts without the provider.
 */
export function createIdentityProvider(settings: ProviderSettings): IdentityProvider {
  const { redirectUri } = settings;
  let known: Promise<client.Configuration> | null = null;
  const configuration = async (): Promise<client.Configuration> => {
    known ??= discover(settings);
    try {
      return await known;
    } catch (error) {
      known = null;
      throw error;
    }
  };
  return {
    begin: async () => {
      const config = await configuration();
      const state = client.randomState();
      const nonce = client.randomNonce();
      const codeVerifier = client.randomPKCECodeVerifier();
      const location = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: SCOPE,
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: "S256",
      });
      return { state, nonce, codeVerifier, location: location.href };
    },
    finish: async (query, { state, nonce, codeVerifier }) => {
      const config = await configuration();
      const tokens = await client.authorizationCodeGrant(config, new URL(`${redirectUri}?${query}`), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: codeVerifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) return null;
      // Some providers give the e-mail address only at the UserInfo endpoint.
      const { email, email_verified: isVerified } =
        claims["email"] === undefined ? await client.fetchUserInfo(config, tokens.access_token, claims.sub) : claims;
      return typeof email === "string" && isVerified === true ? email.trim().toLowerCase() : null;
    },
  };
}

async function discover({ issuer, clientId, clientSecret }: ProviderSettings): Promise<client.Configuration> {
  const address = new URL(issuer);
  // Only a provider on the same machine may use http.
  const options = {
    timeout: REQUEST_TIMEOUT_S,
    execute: LOCAL_HOSTS.has(address.hostname) ? [client.allowInsecureRequests] : [],
  };
  const found = await client.discovery(
    address,
    clientId,
    clientSecret,
    client.ClientSecretBasic(clientSecret),
    options,
  );
  const methods = found.serverMetadata().token_endpoint_auth_methods_supported ?? [];
  if (methods.length === 0 || methods.includes("client_secret_basic")) return found;
  return client.discovery(address, clientId, clientSecret, client.ClientSecretPost(clientSecret), options);
}
