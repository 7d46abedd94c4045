import { expect, it } from "vitest";
import { chartSummary } from "./chart_summary";

it("a chart says in words what it shows, holes left out", () => {
    const format = (value: number) => `${value} ms`;
    expect(chartSummary("Pass time", [{ label: "average", values: [3, null, 1, 2, null] }, { label: "longest", values: [null] }], format)).toBe(
        "Pass time. average: now nothing, lowest 1 ms, highest 3 ms; longest: nothing yet.",
    );
    expect(chartSummary("Pass time", [{ label: "average", values: [null, 2] }], format)).toBe("Pass time. average: now 2 ms, lowest 2 ms, highest 2 ms.");
});
