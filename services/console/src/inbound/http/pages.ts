/** The built page, read once at the start. No request path reaches other files. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

import { CONSOLE_API } from "@kapi/contracts";
import { ApiError, type FastifyInstance, type FastifyReply, type FastifyRequest } from "@kapi/http";

const ROOT = "/console/";
const INDEX = "index.html";
/** Names of files in this folder contain a hash of the content: the files never change. */
const HASHED_FOLDER = "assets/";
const FOREVER = "public, max-age=31536000, immutable";
const NOT_MODIFIED = 304;
const MOVED = 308;

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".json": "application/json; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
};
const OTHER_TYPE = "application/octet-stream";

interface Asset {
  readonly body: Buffer;
  readonly type: string;
  readonly cacheControl: string;
  readonly etag: string;
}

/** The files of a folder, by their path below {@link ROOT}; empty if the folder does not exist. */
export type Assets = ReadonlyMap<string, Asset>;

/** Reads the built page. */
export function readAssets(folder: string): Assets {
  if (!existsSync(folder)) return new Map();
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map((entry) => {
      const file = path.join(entry.parentPath, entry.name);
      const name = path.relative(folder, file).split(path.sep).join("/");
      const body = readFileSync(file);
      const asset: Asset = {
        body,
        type: TYPES[path.extname(name)] ?? OTHER_TYPE,
        cacheControl: name.startsWith(HASHED_FOLDER) ? FOREVER : "no-store",
        etag: `"${createHash("sha256").update(body).digest("base64url")}"`,
      };
      return [name, asset] as const;
    }),
  );
}

/**
 * Serves the page. A path without a file extension gets the page, which routes it. Paths of the API
 * and unknown files are 404.
 */
export function registerPageRoutes(app: FastifyInstance, assets: Assets): void {
  for (const path of ["/", "/console"]) app.get(path, (_request, reply) => reply.redirect(ROOT, MOVED));
  app.get(`${ROOT}*`, (request, reply) => {
    const name = (request.params as { "*": string })["*"];
    const isPage = path.extname(name) === "" && !`${ROOT}${name}/`.startsWith(`${CONSOLE_API}/`);
    const asset = assets.get(isPage ? INDEX : name);
    if (asset === undefined) throw new ApiError("NOT_FOUND");
    return send(asset, request, reply);
  });
}

function send(asset: Asset, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.header("cache-control", asset.cacheControl).header("etag", asset.etag);
  if (request.headers["if-none-match"] === asset.etag) return reply.code(NOT_MODIFIED).send();
  return reply.type(asset.type).send(asset.body);
}
