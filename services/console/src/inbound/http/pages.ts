/** The built page, read once at the start. No request path reaches other files. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

import { CONSOLE_API } from "@kapi/contracts";
import { ApiError, type FastifyInstance, type FastifyReply, type FastifyRequest, hasEntityTag } from "@kapi/http";

const ROOT = "/console/";
const INDEX = "index.html";
/** Names of files in this folder contain a hash of the content: the files never change. */
const HASHED_FOLDER = "assets/";
const FOREVER = "public, max-age=31536000, immutable";
/** Smaller files are not compressed. */
const COMPRESSED_FROM_BYTES = 1_024;
/** Compressing all files takes about 50 ms. The highest quality would take ten times as long. */
const BROTLI_QUALITY = 9;
const COMPRESSIBLE = new Set([".html", ".js", ".css", ".svg", ".json", ".txt"]);
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

type Encoding = "br" | "gzip" | "identity";

interface Asset {
  /** By encoding. Small files, and files of a compressed type, have only "identity". */
  readonly bodies: ReadonlyMap<Encoding, Buffer>;
  readonly type: string;
  readonly cacheControl: string;
  /** SHA-256 of the content, in base64url. */
  readonly hash: string;
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
        bodies: bodiesOf(body, path.extname(name)),
        type: TYPES[path.extname(name)] ?? OTHER_TYPE,
        cacheControl: name.startsWith(HASHED_FOLDER) ? FOREVER : "no-store",
        hash: createHash("sha256").update(body).digest("base64url"),
      };
      return [name, asset] as const;
    }),
  );
}

/**
 * Serves the page. For a path that is no file, the answer is {@link INDEX}: the page itself routes
 * the path. Unknown paths of the API and unknown files in {@link HASHED_FOLDER} return 404. A page
 * from before an upgrade may ask for such a file, and must not get {@link INDEX} instead.
 */
export function registerPageRoutes(app: FastifyInstance, assets: Assets): void {
  for (const path of ["/", "/console"]) app.get(path, (_request, reply) => reply.redirect(ROOT, MOVED));
  app.get(`${ROOT}*`, (request, reply) => {
    const name = (request.params as { "*": string })["*"];
    const isPage = !name.startsWith(HASHED_FOLDER) && !`${ROOT}${name}/`.startsWith(`${CONSOLE_API}/`);
    const asset = assets.get(name) ?? (isPage ? assets.get(INDEX) : undefined);
    if (asset === undefined) throw new ApiError("NOT_FOUND");
    return send(asset, request, reply);
  });
}

function bodiesOf(body: Buffer, extension: string): ReadonlyMap<Encoding, Buffer> {
  const bodies = new Map<Encoding, Buffer>([["identity", body]]);
  if (body.length < COMPRESSED_FROM_BYTES || !COMPRESSIBLE.has(extension)) return bodies;
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY };
  return bodies.set("br", brotliCompressSync(body, { params })).set("gzip", gzipSync(body));
}

/** The best encoding that the browser accepts. An encoding with a quality of 0 is not accepted. */
function encodingFor(asset: Asset, acceptEncoding: string | string[] | undefined): Encoding {
  const accepted = new Set(
    String(acceptEncoding ?? "")
      .split(",")
      .map((part) => part.trim().split(/\s*;\s*/))
      .filter(([, quality = ""]) => !/^q=0(?:\.0*)?$/.test(quality))
      .map(([name]) => name),
  );
  return (["br", "gzip"] as const).find((name) => accepted.has(name) && asset.bodies.has(name)) ?? "identity";
}

function send(asset: Asset, { headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  const encoding = encodingFor(asset, headers["accept-encoding"]);
  const etag = `"${asset.hash}-${encoding}"`;
  reply.headers({ "cache-control": asset.cacheControl, etag, vary: "accept-encoding" });
  if (hasEntityTag(headers["if-none-match"], etag)) return reply.code(NOT_MODIFIED).send();
  if (encoding !== "identity") reply.header("content-encoding", encoding);
  return reply.type(asset.type).send(asset.bodies.get(encoding));
}
