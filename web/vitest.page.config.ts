import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// The built page in a real browser. The test stands with the other whole-program tests, its tools here.
export default defineConfig({
    root: here("../tests"),
    cacheDir: here("node_modules/.vite_page"),
    resolve: { alias: { "playwright-core": here("node_modules/playwright-core/index.mjs"), vitest: here("node_modules/vitest/dist/index.js") } },
    server: { fs: { allow: [here("..")] } },
    // Two at a time: each waits for its daemon most of the time.
    test: { include: ["web_*_test.ts"], testTimeout: 180_000, hookTimeout: 180_000, minWorkers: 2, maxWorkers: 2 },
});
