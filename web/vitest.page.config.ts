import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// The built page in a real browser.
export default defineConfig({
    cacheDir: fileURLToPath(new URL("node_modules/.vite_page", import.meta.url)),
    test: {
        include: ["tests/*_test.ts"],
        testTimeout: 180_000,
        hookTimeout: 180_000,
        // As patient as the browser itself: one second is too little on a busy machine.
        expect: { poll: { timeout: 60_000 } },
        // Two at a time: each waits for its daemon most of the time.
        minWorkers: 2,
        maxWorkers: 2,
    },
});
