import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// The built page in a real browser.
export default defineConfig({
    cacheDir: fileURLToPath(new URL("node_modules/.vite_page", import.meta.url)),
    // Two at a time: each waits for its daemon most of the time.
    test: { include: ["tests/*_test.ts"], testTimeout: 180_000, hookTimeout: 180_000, minWorkers: 2, maxWorkers: 2 },
});
