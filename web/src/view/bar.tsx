// A share as a bar. The number stands beside it, so the bar itself says nothing to a screen reader.
export function Bar({ percent, tone }: { percent: number | null; tone?: "plain" | "warn" | "bad" }) {
    const width = `${Math.min(100, Math.max(0, percent ?? 0))}%`;
    return (
        <span class={`bar ${tone ?? "plain"}`} aria-hidden="true">
            <span style={{ width }} />
        </span>
    );
}

// Red and amber are kept for what needs an eye.
export function loadTone(percent: number | null): "plain" | "warn" | "bad" {
    if (percent === null || percent < 80) return "plain";
    return percent < 95 ? "warn" : "bad";
}
