// A matchmaker over HTTP: names the players, asks for a server, and follows the match to its end.
//
//     npx tsx http_matchmaker.ts URL LOBBY REGION ACCOUNT…      such as http://127.0.0.1:11030 7 EU 1 2
//
// MUSTER_TOKEN is the token to show, where Muster has one: auth.http_matchmaker_token.

const [url = "", lobby = "", region = "", ...accounts] = process.argv.slice(2);
if (accounts.length === 0) fail("usage: http_matchmaker.ts URL LOBBY REGION ACCOUNT…");
const headers = { "Content-Type": "application/json", Authorization: `Bearer ${process.env.MUSTER_TOKEN ?? ""}` };

async function ask(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<Response> {
    const answer = await fetch(`${url}/api/v1${path}`, { method, headers: { ...headers, ...more }, body: JSON.stringify(body) }).catch(
        (failure: Error) => fail(`Muster does not answer at ${url}: ${failure.message}`),
    );
    if (!answer.ok) fail(`lobby ${lobby}: ${answer.status}, ${(await answer.json()).error}`);
    return answer;
}

function fail(text: string): never {
    console.error(text);
    process.exit(1);
}

// Opened before the request, so that no event is missed.
const events = await ask("GET", `/events?lobby=${lobby}&type=match.`, undefined, { Accept: "text/event-stream" });
await ask("PUT", `/matches/${lobby}/players`, { accounts: accounts.map(Number) });
const match = await (await ask("POST", "/matches", { lobby_id: Number(lobby), region, player_count: accounts.length })).json();
console.log(`lobby ${lobby}: go to ${match.ip}:${match.port} with ${match.token}`);

let rest = "";
for await (const piece of events.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split("\n"); // "id: …", "event: …", "data: {…}" and an empty line each
    rest = lines.pop() ?? "";
    for (const line of lines.filter((each) => each.startsWith("data: "))) {
        const event = JSON.parse(line.slice("data: ".length));
        console.log(`lobby ${lobby}: ${event.type} ${event.reason ?? ""}`.trimEnd());
        if (event.type === "match.ended" || event.type === "match.aborted") process.exit(0);
    }
}
