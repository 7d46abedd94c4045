import { readFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";
import { expect, it } from "vitest";

it("O-2: the page's types are those of openapi.json (if not: npm run schema)", async () => {
    const made = astToString(await openapiTS(new URL("../../../src/http/openapi.json", import.meta.url)));
    const kept = readFileSync(new URL("./api_schema.ts", import.meta.url), "utf-8");
    expect(kept.endsWith(made)).toBe(true);
}, 60_000);
