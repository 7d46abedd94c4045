import { defineConfig } from "vitest/config";

// The page's logic, without a browser.
export default defineConfig({ test: { include: ["src/**/*_test.ts"] } });
