// Figures and foreign text as a person reads them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const NONE = "–";
// Between a number and its unit, so that no line ends there.
const TIE = "\u00A0";

export function count(value: number): string {
    return whole.format(value);
}

// Three significant figures, no more: 0.25, 3.1, 42, 12,345.
export function figure(value: number | null | undefined): string {
    if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
    const size = Math.abs(value);
    if (size >= 100 || value === 0) return whole.format(value);
    if (size < 0.01) return `<${TIE}0.01`;
    return String(Number(value.toPrecision(size < 1 ? 2 : 3)));
}

export function perSecond(value: number | null): string {
    return value === null ? NONE : `${figure(value)}/s`;
}

export function percent(value: number | null | undefined): string {
    return value === null || value === undefined || !Number.isFinite(value) ? NONE : `${Math.round(value)}${TIE}%`;
}

// 1 of 3 is 33, and 1 of nothing is no share at all.
export function share(part: number, all: number): number | null {
    return all > 0 ? (100 * part) / all : null;
}

export function milliseconds(value: number | null | undefined): string {
    if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
    return Math.abs(value) >= 1000 ? `${figure(value / 1000)}${TIE}s` : `${figure(value)}${TIE}ms`;
}

// The lines of a chart's scale, all in the unit of the highest.
export function millisecondsScale(levels: readonly number[]): string[] {
    const seconds = Math.max(0, ...levels) >= 1000;
    return levels.map((level) => (seconds ? `${figure(level / 1000)}${TIE}s` : `${figure(level)}${TIE}ms`));
}

// A round trip in a column of them: always in ms, and as many decimals as its neighbours, so that they can be compared.
export function roundTrip(ms: number | null): string {
    if (ms === null || !Number.isFinite(ms)) return NONE;
    const tiny = ms > 0 && ms < 0.01;
    return `${tiny ? figure(ms) : ms < 100 ? ms.toFixed(2) : whole.format(ms)}${TIE}ms`;
}

// A round trip that the daemon gives as 0 has not been measured yet: it counts in microseconds, and none is that fast.
export function measured(ms: number | null): number | null {
    return ms === 0 ? null : ms;
}

// No jitter at all is a figure too, once there is a round trip.
export function measuredJitter(jitterMs: number | null, roundTripMs: number | null): number | null {
    return measured(roundTripMs) === null ? null : jitterMs;
}

// The two largest units: 12 s, 3 min 5 s, 2 h 10 min, 4 d 3 h.
export function duration(ms: number | null | undefined): string {
    if (ms === null || ms === undefined || !Number.isFinite(ms)) return NONE;
    const seconds = Math.max(0, Math.floor(ms / 1000));
    const [d, h, min, s] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60, seconds % 60];
    if (d > 0) return `${d}${TIE}d ${h}${TIE}h`;
    if (h > 0) return `${h}${TIE}h ${min}${TIE}min`;
    if (min > 0) return `${min}${TIE}min ${s}${TIE}s`;
    return `${s}${TIE}s`;
}

export function ago(ms: number | null | undefined): string {
    return ms === null || ms === undefined ? NONE : `${duration(ms)} ago`;
}

// The operator's own time of day.
export function timeOfDay(unixMs: number): string {
    const date = new Date(unixMs);
    return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// The time of day, and the day where it is not `now`'s.
export function momentText(unixMs: number, now: number): string {
    const date = new Date(unixMs);
    if (date.toDateString() === new Date(now).toDateString()) return timeOfDay(unixMs);
    return `${date.getDate()}${TIE}${MONTHS[date.getMonth()]}${TIE}${timeOfDay(unixMs)}`;
}

export function isoTime(unixMs: number): string {
    const date = new Date(unixMs);
    return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}

const DAYS = ["Sun.", "Mon.", "Tue.", "Wed.", "Thu.", "Fri.", "Sat."];

export function dayName(day: number): string {
    return DAYS[day - 1] ?? `Day ${day}`;
}

export function gameTime(clock: { day: number; hour: number; minute: number }): string {
    return `${dayName(clock.day)} ${String(clock.hour).padStart(2, "0")}:${String(clock.minute).padStart(2, "0")}`;
}

// "no_servers_available" as a person says it.
export function reasonWords(reason: string): string {
    const words = foreign(reason.replaceAll("_", " "));
    return words.charAt(0).toUpperCase() + words.slice(1);
}

// Controls, and what turns or hides the text around it: a name must not be able to write over its neighbours.
const UNSEEN = /[\u0000-\u001F\u007F-\u009F\u061C\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF]/g;

// Text that somebody else chose, with every character that cannot be seen made visible, and cut at `limit`.
export function foreign(text: string, limit = 200): string {
    const shown = text.replace(UNSEEN, (character) => {
        const code = character.charCodeAt(0);
        if (code < 0x20) return String.fromCharCode(0x2400 + code);
        return `\\u${code.toString(16).padStart(4, "0")}`;
    });
    return shown.length > limit ? `${shown.slice(0, limit)}…` : shown;
}
