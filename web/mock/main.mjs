// A pretended daemon for work on the page.
//
//   node mock/main.mjs [--port N] [--servers N] [--players N] [--rate N] [--hostile] [--token TEXT] [--guard-reads]
//                      [--viewer TEXT]
//                      [--dist FOLDER]
//
// It prints {"url": …, "token": …} and then takes commands from standard input, one a line, each answered by a line of JSON:
//   join            a server registers in region EU: {"server": id}
//   match           a match is allocated in region EU: {"lobby": id}
//   refused         a request for a match fails: {"reason": text}
//   player NAME     a player logs in: {"player": id}
//   blackout        all servers of EU and USE fall silent
//   readers         says how many follow the live events
//   past SECONDS    so much time passes at once, for the charts
//   stop, start     the daemon goes away, and comes back
//   store down|up   the store fails, or works again
// It ends with its standard input.

import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ApiServer } from "./api_server.mjs";
import { World } from "./world.mjs";

const STEP_MS = 250;

const { values: options } = parseArgs({
    options: {
        port: { type: "string", default: "11030" },
        servers: { type: "string", default: "60" },
        players: { type: "string", default: "400" },
        rate: { type: "string", default: "3" },
        hostile: { type: "boolean", default: false },
        token: { type: "string", default: "" },
        "guard-reads": { type: "boolean", default: false },
        viewer: { type: "string", default: "" },
        dist: { type: "string", default: fileURLToPath(new URL("../dist", import.meta.url)) },
    },
});

const world = new World({
    servers: Number(options.servers),
    players: Number(options.players),
    matchesPerSecond: Number(options.rate),
    hostile: options.hostile,
});
const server = new ApiServer(world, {
    dist: options.dist,
    token: options.token,
    guardReads: options["guard-reads"],
    viewer: options.viewer,
});
const port = await server.start(Number(options.port));
const timer = setInterval(() => world.step(STEP_MS / 1000), STEP_MS);
say({ url: `http://127.0.0.1:${port}/`, token: options.token });

for await (const line of createInterface({ input: process.stdin })) {
    const [command, ...words] = line.split(" ");
    try {
        say(await obey(command, words.join(" ")));
    } catch (error) {
        say({ error: error.message });
    }
}
clearInterval(timer);
await server.stop();

async function obey(command, rest) {
    switch (command) {
        case "join":
            return { server: world.join({ region: 2 }) };
        case "match":
            return { lobby: world.give(2) };
        case "refused":
            return { reason: world.refuse(11, "no_servers_available") };
        case "player":
            return { player: world.login(rest) };
        case "blackout":
            world.blackout([2, 0]);
            return {};
        case "readers":
            return { live: world.listeners.size };
        case "past":
            world.pretendPast(Number(rest));
            return {};
        case "stop":
            await server.stop();
            return {};
        case "start":
            await server.start();
            return {};
        case "store":
            world.storeUp = rest === "up";
            return {};
        default:
            throw new Error(`There is no command '${command}'`);
    }
}

function say(answer) {
    process.stdout.write(`${JSON.stringify(answer)}\n`);
}
