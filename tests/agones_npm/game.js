// A game server with the unmodified client: it pings, watches for its match, and says Ready when its port hears "end".
const AgonesSDK = require("@google-cloud/agones-sdk");
const dgram = require("dgram");

async function main() {
    const sdk = new AgonesSDK();
    await sdk.connect();
    sdk.watchGameServer(
        (server) => console.log("watch", server.status.state, JSON.stringify(server.objectMeta.annotationsMap)),
        (error) => console.log("watch ended:", error.code)
    );
    setInterval(() => sdk.health((error) => console.log("health ended:", error.code)), 200);
    const port = dgram.createSocket("udp4");
    port.on("message", (message) => message.toString() === "end" && sdk.ready());
    port.bind(Number(process.env.PORT), () => sdk.ready());
}

main();
