// A state by shape and colour, so that neither alone must be told apart. The word always stands beside it.

import type { Health } from "../api/shapes";

export type Tone = Health | "unknown" | "over";

export const HEALTH_WORDS: Record<Health, string> = { ok: "OK", warn: "Warning", bad: "Critical" };

export function StatusMark({ tone }: { tone: Tone }) {
    return (
        <svg class={`mark ${tone}`} viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" focusable="false">
            {tone === "ok" && <circle cx="8" cy="8" r="6" />}
            {tone === "warn" && <path d="M8 1.5 15 14H1z" />}
            {tone === "bad" && <rect x="2" y="2" width="12" height="12" rx="1" />}
            {tone === "over" && <rect class="faded" x="2" y="7" width="12" height="2" />}
            {tone === "unknown" && <circle class="hollow" cx="8" cy="8" r="5.5" />}
        </svg>
    );
}
