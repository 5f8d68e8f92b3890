import { render } from "preact";

import { Client } from "./api/client.ts";
import { ConsoleApi } from "./api/console-api.ts";
import { App } from "./app.tsx";
import { placeOf } from "./router.tsx";
import { preloadPageAt } from "./routes.tsx";
import "./style.css";

preloadPageAt(placeOf(location.pathname, location.search));
const client = new Client();
const place = document.getElementById("app");
if (place !== null) render(<App client={client} api={new ConsoleApi(client)} />, place);
