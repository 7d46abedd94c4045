// What the daemon's HTTP API answers, by the names that the page uses. The types are those of src/http/openapi.json:
// `npm run schema` makes api_schema.ts from it.

import type { components } from "./api_schema";

type Schemas = components["schemas"];

export type Overview = Schemas["Overview"];
export type OverviewHistory = Schemas["OverviewHistory"];
export type OverviewSample = Schemas["OverviewSample"];
export type Health = Overview["health"]["status"];
export type RegionView = Schemas["Region"];
export type Distribution = Schemas["Distribution"];
export type Clock = Schemas["Clock"];
export type Server = Schemas["Server"];
export type ServerStatus = Server["status"];
export type ServerSample = Schemas["Sample"];
export type ServerWithHistory = Schemas["ServerDetail"];
export type Match = Schemas["Match"];
export type MatchWithPlayers = Schemas["MatchDetail"];
export type Matchmaker = Schemas["Matchmaker"];
export type MatchState = Match["state"];
export type Player = Schemas["Player"];
export type Host = Schemas["Host"];
export type Cluster = Schemas["Cluster"];
export type Process = Schemas["Process"];
export type ProcessState = Process["state"];
export type Me = Schemas["Me"];
export type Operator = Schemas["Operator"];
export type Block = Schemas["Block"];

// An event has these three fields, and more that depend on its type. A daemon newer than the page may tell of types that
// it does not know.
export type FleetEvent = Pick<Schemas["Event"], "id" | "time_ms"> & { type: string; [field: string]: unknown };

export type EventPage = Pick<Schemas["EventList"], "previous"> & { events: FleetEvent[] }; // oldest first
