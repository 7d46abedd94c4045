import { THEMES, type Theme } from "../model/theme";
import { usePage, useStore } from "./page_context";

const WORDS: Record<Theme, string> = { system: "Auto", light: "Light", dark: "Dark" };

export function ThemeChoice() {
    const { theme } = usePage();
    const chosen = useStore(theme.theme);
    return (
        <label class="theme">
            <span class="unseen">Colours</span>
            <select value={chosen} onChange={(event) => theme.choose(event.currentTarget.value as Theme)}>
                {THEMES.map((each) => (
                    <option key={each} value={each}>
                        {WORDS[each]}
                    </option>
                ))}
            </select>
        </label>
    );
}
