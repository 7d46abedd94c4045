import { useState } from "preact/hooks";
import type { Clock } from "../api/shapes";
import { dayName, gameTime } from "../model/format";
import { useMayOperate, usePage } from "./page_context";

const SPEED_MAX = 3600;
const DAYS = [1, 2, 3, 4, 5, 6, 7];

export function ClockPanel({ clock }: { clock: Clock }) {
    const { watch } = usePage();
    const may = useMayOperate();
    const [draft, setDraft] = useState<Clock | null>(null);
    return (
        <section class="panel" aria-labelledby="clock">
            <h2 id="clock">World clock</h2>
            <p class="big">{gameTime(clock)}</p>
            <p class="detail">
                {clock.speed === 1 ? "One game minute a minute" : `${clock.speed} game minutes a minute`}
            </p>
            {draft === null || !may ? (
                may && (
                    <button type="button" onClick={() => setDraft(clock)}>
                        Set the clock…
                    </button>
                )
            ) : (
                <ClockForm
                    draft={draft}
                    change={setDraft}
                    done={() => {
                        setDraft(null);
                        watch.retry();
                    }}
                />
            )}
        </section>
    );
}

function ClockForm({ draft, change, done }: { draft: Clock; change: (clock: Clock) => void; done: () => void }) {
    const { actions } = usePage();
    const set = async (event: Event) => {
        event.preventDefault();
        if (await actions.setClock(draft)) done();
    };
    const number = (name: "hour" | "minute" | "speed", label: string, least: number, most: number) => (
        <label>
            {label}
            <input
                type="number"
                min={least}
                max={most}
                step={1}
                required
                value={draft[name]}
                onInput={(event) => change({ ...draft, [name]: event.currentTarget.valueAsNumber })}
            />
        </label>
    );
    return (
        <form class="clock" onSubmit={(event) => void set(event)}>
            <label>
                Day
                <select value={draft.day} onChange={(event) => change({ ...draft, day: Number(event.currentTarget.value) })}>
                    {DAYS.map((day) => (
                        <option key={day} value={day}>
                            {dayName(day)}
                        </option>
                    ))}
                </select>
            </label>
            {number("hour", "Hour", 0, 23)}
            {number("minute", "Minute", 0, 59)}
            {number("speed", "Speed", 1, SPEED_MAX)}
            <p class="detail">All players see the change at once.</p>
            <div class="buttons">
                <button type="button" onClick={done}>
                    Leave it
                </button>
                <button type="submit" class="main">
                    Set
                </button>
            </div>
        </form>
    );
}
