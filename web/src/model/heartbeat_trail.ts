// A server's heartbeats while somebody looks at it, as the silence before each of them: a line that climbs while the
// server is silent and falls to nothing when it is heard.

export const POINTS_MAX = 1_800;
// The daemon's word of when a heartbeat came is off by as much; no server sends them this fast.
const SAME_BEAT_MS = 500;

interface Point {
    time_ms: number;
    silence_ms: number;
}

export class HeartbeatTrail {
    private points: Point[] = [];
    private beat: number | null = null;

    // At `time_ms` the last heartbeat was `ago_ms` old.
    push(time_ms: number, ago_ms: number): void {
        const beat = time_ms - ago_ms;
        if (this.beat === null || beat - this.beat > SAME_BEAT_MS) {
            if (this.beat !== null) this.points.push({ time_ms: beat, silence_ms: beat - this.beat }, { time_ms: beat + 1, silence_ms: 0 });
            this.beat = beat;
        }
        this.points.push({ time_ms, silence_ms: ago_ms });
        if (this.points.length > POINTS_MAX) this.points.splice(0, this.points.length - POINTS_MAX);
    }

    columns(): { seconds: number[]; silence: number[] } {
        return { seconds: this.points.map((point) => point.time_ms / 1000), silence: this.points.map((point) => point.silence_ms) };
    }
}
