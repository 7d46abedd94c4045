// Fails when the built page would not run under the daemon's content policy, or has grown past its budget.
//
//   node check_dist.mjs [FOLDER]      dist, beside this file, when none is named

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const BUDGET_BYTES = 72 * 1024; // gzipped, all files; a view costs 2 to 4 KiB
const FILES = ["app.css", "app.js", "favicon.svg", "index.html"];

const named = process.argv[2];
const folder = named === undefined ? new URL("dist/", import.meta.url) : pathToFileURL(`${named}/`);
const faults = [];

if (!existsSync(folder)) {
    console.error(`check_dist: there is no ${folder.pathname}; the page is built by npm run build, and by the program's build where npm works`);
    process.exit(1);
}
const found = readdirSync(folder, { recursive: true }).sort();
if (found.join() !== FILES.join()) faults.push(`files are ${found.join(", ")}; the daemon embeds ${FILES.join(", ")}`);

let total = 0;
const sizes = [];
for (const name of found) {
    const bytes = readFileSync(new URL(name, folder));
    const packed = gzipSync(bytes, { level: 9 }).length;
    total += packed;
    sizes.push(`${name} ${packed}`);
    const text = bytes.toString("utf8");
    if (/(?:src|href)=["']?(?:https?:)?\/\//.test(text) || /url\(\s*["']?(?:https?:|\/\/|data:)/.test(text))
        faults.push(`${name} asks for something from elsewhere`);
    if (name === "index.html" && (/<style|\sstyle=|\son\w+=/.test(text) || /<script(?![^>]*\ssrc=)/.test(text)))
        faults.push(`${name} holds inline script or style`);
}
if (total > BUDGET_BYTES) faults.push(`${total} bytes gzipped, the budget is ${BUDGET_BYTES}`);

for (const fault of faults) console.error(`check_dist: ${fault}`);
if (faults.length > 0) process.exit(1);
console.log(`check_dist: ${total} bytes gzipped (${sizes.join(", ")})`);
