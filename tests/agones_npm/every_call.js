// Every call of the unmodified Agones client, one after another; prints what it got as one line of JSON.
// The test says on standard input when Muster has offered a match.
const AgonesSDK = require("@google-cloud/agones-sdk");

async function refusal(call) {
    try {
        await call();
    } catch (error) {
        return { code: error.code, details: error.details };
    }
    return null;
}

function until(condition) {
    return new Promise((resolve) => {
        const look = () => (condition() ? resolve() : setTimeout(look, 10));
        look();
    });
}

async function main() {
    const sdk = new AgonesSDK();
    const got = {};
    const states = [];
    await sdk.connect();
    sdk.watchGameServer(
        (server) => states.push({ state: server.status.state, annotations: Object.fromEntries(server.objectMeta.annotationsMap) }),
        () => {},
    );
    await until(() => states.length > 0);
    sdk.health(() => {});
    await sdk.setLabel("mode", "ctf");
    await sdk.setAnnotation("map", "dust");
    got.ready = await sdk.ready();
    got.server = await sdk.getGameServer();

    console.log("ready");
    await until(() => states.some((each) => each.state === "Allocated"));
    got.offered = states.find((each) => each.state === "Allocated").annotations;
    await sdk.ready();
    await sdk.allocate();
    await sdk.reserve(30);

    got.capacity_before = await sdk.alpha.getPlayerCapacity();
    await sdk.alpha.setPlayerCapacity(2);
    got.capacity = await sdk.alpha.getPlayerCapacity();
    got.connected = await sdk.alpha.playerConnect("ann");
    got.connected_again = await sdk.alpha.playerConnect("ann");
    got.players = await sdk.alpha.getConnectedPlayers();
    got.count = await sdk.alpha.getPlayerCount();
    got.is_connected = await sdk.alpha.isPlayerConnected("ann");
    got.disconnected = await sdk.alpha.playerDisconnect("ann");

    await sdk.beta.incrementCounter("rooms", 4);
    await sdk.beta.decrementCounter("rooms", 2);
    got.rooms = await sdk.beta.getCounterCount("rooms");
    await sdk.beta.setCounterCapacity("rooms", 20);
    await sdk.beta.setCounterCount("rooms", 20);
    got.rooms_set = [await sdk.beta.getCounterCount("rooms"), await sdk.beta.getCounterCapacity("rooms")];
    got.rooms_over = await refusal(() => sdk.beta.incrementCounter("rooms", 1));
    got.no_counter = await refusal(() => sdk.beta.getCounterCount("none"));

    await sdk.beta.appendListValue("players", "bob");
    await sdk.beta.setListCapacity("players", 5);
    got.list = await sdk.beta.getListValues("players");
    got.list_length = await sdk.beta.getListLength("players");
    got.list_capacity = await sdk.beta.getListCapacity("players");
    got.contains = await sdk.beta.listContains("players", "bob");
    await sdk.beta.deleteListValue("players", "bob");
    got.contains_after = await sdk.beta.listContains("players", "bob");
    got.list_again = await refusal(() => sdk.beta.appendListValue("players", "first"));

    await sdk.shutdown();
    await until(() => states.some((each) => each.state === "Shutdown"));
    got.states = states.map((each) => each.state);
    sdk.close();
    console.log(JSON.stringify(got));
    process.exit(0);
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
