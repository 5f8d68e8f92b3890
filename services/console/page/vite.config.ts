import { defineConfig } from "vite";

/**
 * Builds the console for the service that serves it below `/console/`. Nothing is inlined, into the
 * page or as a data URL, because the content security policy of that service allows only files of
 * its own.
 */
export default defineConfig({
  base: "/console/",
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: true },
});
