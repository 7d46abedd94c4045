import { defineConfig } from "vite";

// Few files with names that stay, since the daemon embeds them by name. Nothing is inlined: the page is served under a
// content policy that allows its own origin and nothing else, not even data: addresses.
export default defineConfig({
    base: "./",
    esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
    build: {
        target: "es2022",
        assetsInlineLimit: 0,
        cssCodeSplit: false,
        modulePreload: false,
        reportCompressedSize: false,
        rollupOptions: {
            output: {
                entryFileNames: "app.js",
                assetFileNames: (asset) => (asset.names.some((name) => name.endsWith(".css")) ? "app.css" : "[name][extname]"),
                inlineDynamicImports: true,
            },
        },
    },
    // `npm run dev` beside `npm run mock` (or a daemon on its usual port).
    server: { proxy: { "/api": "http://127.0.0.1:11030" } },
});
