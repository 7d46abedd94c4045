import { isoTime, momentText } from "../model/format";

export function Moment({ at }: { at: number }) {
    return (
        <time dateTime={isoTime(at)} title={new Date(at).toLocaleString()}>
            {momentText(at, Date.now())}
        </time>
    );
}
