/**
 * Builds the published package in `libs/client/dist`: JavaScript and declarations for Node 20.12
 * and later, package.json and README. Run it with `npm run build -w libs/client`, then `npm pack
 * ./libs/client/dist`.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

const FOLDER = import.meta.dirname;
const DIST = path.join(FOLDER, "dist");
const pathOfModule = (name) => path.join(FOLDER, "node_modules", name);

rmSync(DIST, { recursive: true, force: true });
// The repository has another version of TypeScript: this runs the one of this package.
execFileSync(process.execPath, [pathOfModule("typescript/bin/tsc"), "-p", path.join(FOLDER, "tsconfig.build.json")], {
  stdio: "inherit",
});

const {
  private: _private,
  devDependencies: _dev,
  scripts: _scripts,
  ...published
} = JSON.parse(readFileSync(path.join(FOLDER, "package.json"), "utf8"));
const built = (source) => source.replace("./src/", "./").replace(/\.ts$/, ".js");
published.exports = Object.fromEntries(
  Object.entries(published.exports).map(([name, source]) => {
    const file = built(source);
    return [name, { types: file.replace(/\.js$/, ".d.ts"), default: file }];
  }),
);
published.bin = Object.fromEntries(Object.entries(published.bin).map(([name, source]) => [name, built(source)]));
writeFileSync(path.join(DIST, "package.json"), `${JSON.stringify(published, null, 2)}\n`);
copyFileSync(path.join(FOLDER, "README.md"), path.join(DIST, "README.md"));
for (const file of Object.values(published.bin)) chmodSync(path.join(DIST, file), 0o755);
