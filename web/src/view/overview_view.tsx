// The whole at a glance, most urgent first: is it well, how full is it, do allocations work; then the rest.

import { useMemo } from "preact/hooks";
import { NOTABLE } from "../model/event_feed";
import { routeTo } from "../model/route";
import { AllocationPanel } from "./allocation_panel";
import { ClockPanel } from "./clock_panel";
import { EventList } from "./event_list";
import { HealthPanel } from "./health_panel";
import { KeyFigures } from "./key_figures";
import { LoopPanel } from "./loop_panel";
import { usePage, useStore } from "./page_context";
import { PlayersPanel } from "./players_panel";
import { RegionPanel } from "./region_panel";

const EVENTS_SHOWN = 30;

export function OverviewView() {
    const { watch } = usePage();
    const reading = useStore(watch.reading);
    const columns = useMemo(() => reading?.trail.columns(), [reading]);
    if (reading === null || columns === undefined) return <p class="empty">Waiting for the first answer…</p>;
    const { overview, trail } = reading;
    return (
        <>
            <HealthPanel />
            <KeyFigures overview={overview} trail={trail} />
            <div class="main-and-side">
                <div>
                    <RegionPanel overview={overview} trail={trail} />
                    <AllocationPanel overview={overview} trail={trail} columns={columns} />
                </div>
                <div class="side">
                    <NotableEvents />
                    <ClockPanel clock={overview.clock} />
                </div>
            </div>
            <div class="two-and-one">
                <PlayersPanel players={overview.players} trail={trail} columns={columns} />
                <LoopPanel overview={overview} columns={columns} />
            </div>
        </>
    );
}

function NotableEvents() {
    const { notable } = usePage();
    const events = useStore(notable.shown);
    return (
        <section class="panel recent" aria-labelledby="recent-events">
            <h2 id="recent-events">
                Notable events <a href={routeTo("events", { kind: NOTABLE })}>all</a>
            </h2>
            <EventList events={events} most={EVENTS_SHOWN} empty="No notable events." />
        </section>
    );
}
