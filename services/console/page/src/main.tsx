import { render } from "preact";

import { Client } from "./api/client.ts";
import { ConsoleApi } from "./api/console-api.ts";
import { App } from "./app.tsx";
import { FIRST_PAGE } from "./navigation.ts";
import { pageAddressOf } from "./router.tsx";
import { preloadPageAt } from "./routes.tsx";
import "./style.css";

/**
 * The pages that most people open first, each with the path of the API that it reads first. Other
 * pages read nothing before the session is known.
 */
const FIRST_READS: Readonly<Record<string, string>> = { overview: "/overview", accounts: "/servers" };

const asked = pageAddressOf(location.pathname, location.search);
preloadPageAt(asked);
const client = new Client();
const firstRead = FIRST_READS[asked.segments.join("/") || FIRST_PAGE];
// The read begins at once, and does not wait for the session.
if (firstRead !== undefined) client.begin(firstRead);
const host = document.getElementById("app");
if (host !== null) render(<App client={client} api={new ConsoleApi(client)} />, host);
