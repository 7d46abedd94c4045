import { useMemo } from "preact/hooks";
import type { Matchmaker } from "../api/shapes";
import { ago, foreign } from "../model/format";
import { routeTo } from "../model/route";
import { finder } from "../model/table_rows";
import { DataTable, type Column } from "./data_table";
import { emptyText, ListFrame, TextFilter } from "./list_frame";
import { usePage, useRegionName, useStore } from "./page_context";
import { useList } from "./use_list";

export function MatchmakersView() {
    const { route } = usePage();
    const { q = "" } = useStore(route.route).filter;
    const regionName = useRegionName();
    const list = useList<Matchmaker>("matchmakers");
    const rows = useMemo(() => {
        const found = finder(q);
        return list.rows.filter((matchmaker) => found(matchmaker.id, ...matchmaker.regions.map(regionName)));
    }, [list.rows, q]);
    return (
        <ListFrame
            list={list}
            noun={["matchmaker", "matchmakers"]}
            matching={rows.length}
            subject={q}
            filters={<TextFilter name="q" label="Find" hint="name, region" />}
        >
            <DataTable
                caption="matchmakers"
                columns={columns(regionName)}
                rows={rows}
                rowKey={(matchmaker) => matchmaker.id}
                first={{ column: "id", descending: false }}
                subject={q}
                empty={emptyText(list, "No matchmaker is connected.", "No matchmaker matches.")}
            />
        </ListFrame>
    );
}

function columns(regionName: (id: number) => string): Column<Matchmaker>[] {
    return [
        {
            name: "id",
            label: "Matchmaker",
            value: (matchmaker) => matchmaker.id,
            show: (matchmaker) => <span class="player-name">{foreign(matchmaker.id)}</span>,
        },
        {
            name: "regions",
            label: "Regions",
            value: (matchmaker) => matchmaker.regions.length,
            show: (matchmaker) => foreign(matchmaker.regions.map(regionName).join(", "), 400),
        },
        {
            name: "seen",
            label: "Last heard",
            value: (matchmaker) => matchmaker.last_seen_ms_ago,
            show: (matchmaker) => ago(matchmaker.last_seen_ms_ago),
            numeric: true,
        },
        {
            name: "matches",
            label: "Matches",
            show: (matchmaker) => (
                <a href={routeTo("matches", { q: matchmaker.id })} aria-label={`Matches of ${foreign(matchmaker.id)}`}>
                    matches
                </a>
            ),
        },
    ];
}
