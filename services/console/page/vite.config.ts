import { defineConfig } from "vite";

/**
 * Builds the console for the service that serves it below `/console/`. Nothing is inlined, neither
 * into the page nor as a data URL: the content security policy of that service allows scripts,
 * styles and fonts only from its own files.
 */
export default defineConfig({
  base: "/console/",
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    rolldownOptions: {
      output: {
        // The modules that most pages use are in one file, so that a page needs few requests.
        codeSplitting: {
          groups: [{ name: "parts", test: /src\/(?:parts|api|format|router|time-zone)|node_modules\/preact/ }],
        },
      },
    },
  },
});
