// A server's heartbeats while somebody looks at it, as the silence before each of them: a line that climbs while the
// server is silent and falls to nothing when it is heard.

import { GAP_MS, type Figure } from "./trail";

export const POINTS_MAX = 1_800;
// The daemon's word of when a heartbeat came is off by as much; no server sends them this fast.
const SAME_BEAT_MS = 500;

interface Point {
    time_ms: number;
    silence_ms: Figure;
}

export class HeartbeatTrail {
    private points: Point[] = [];
    private beat: number | null = null;

    // At `time_ms` the last heartbeat was `ago_ms` old.
    push(time_ms: number, ago_ms: number): void {
        const beat = time_ms - ago_ms;
        if (this.beat === null || beat - this.beat > SAME_BEAT_MS) {
            if (this.beat !== null) this.heard(this.beat, beat, time_ms);
            this.beat = beat;
        }
        this.points.push({ time_ms, silence_ms: ago_ms });
        if (this.points.length > POINTS_MAX) this.points.splice(0, this.points.length - POINTS_MAX);
    }

    columns(): { seconds: number[]; silence: Figure[] } {
        return { seconds: this.points.map((point) => point.time_ms / 1000), silence: this.points.map((point) => point.silence_ms) };
    }

    private heard(before: number, beat: number, time_ms: number): void {
        const asked = this.points.at(-1)?.time_ms ?? time_ms;
        // While the page was asleep there may have been more heartbeats than this one: nobody knows of a silence.
        if (time_ms - asked > GAP_MS) this.points.push({ time_ms: asked + 1, silence_ms: null });
        else this.points.push({ time_ms: beat, silence_ms: beat - before }, { time_ms: beat + 1, silence_ms: 0 });
    }
}
