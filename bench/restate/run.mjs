// Starts Restate's server and the service, calls it with 200 calls in flight, and prints calls a second, one line a round.
// node run.mjs FOLDER PARTITIONS ROUNDS SECONDS; 0 partitions: as many as the server makes by default.
import { spawn } from "node:child_process";
import http from "node:http";
import { createRequire } from "node:module";

const [folder, partitions, rounds, seconds] = process.argv.slice(2);
const IN_FLIGHT = 200;
const agent = new http.Agent({ keepAlive: true, maxSockets: IN_FLIGHT });

function request(port, path, body) {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json" };
    const sent = http.request({ agent, host: "127.0.0.1", port, path, headers, method: body ? "POST" : "GET" }, (answer) => {
      let text = "";
      answer.on("data", (part) => { text += part; });
      answer.on("end", () => (answer.statusCode < 300 ? resolve(text) : reject(new Error(`${path}: ${answer.statusCode} ${text}`))));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

async function until(what) {
  for (let tries = 0; ; tries++) {
    try { return await what(); } catch (error) { if (tries === 150) throw error; }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function round(time) {
  const end = performance.now() + time * 1000;
  let done = 0;
  const call = async () => {
    while (performance.now() < end) {
      await request(8080, "/order/run", '{"sku":"a chair made of oak","total":70}');
      done += 1;
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: IN_FLIGHT }, call));
  return done / ((performance.now() - began) / 1000);
}

const env = { ...process.env, RESTATE_BASE_DIR: folder, RESTATE_DISABLE_TELEMETRY: "true", RUST_LOG: "error" };
if (partitions !== "0") env.RESTATE_DEFAULT_NUM_PARTITIONS = partitions;
const binary = createRequire(import.meta.url).resolve("@restatedev/restate-server-linux-x64/bin/restate-server");
const children = [
  spawn(binary, [], { env, stdio: ["ignore", "ignore", "inherit"] }),
  spawn(process.execPath, [new URL("service.mjs", import.meta.url).pathname], { stdio: ["ignore", "ignore", "inherit"] }),
];
let failed = 0;
try {
  await until(() => request(9070, "/health"));
  await until(() => request(9070, "/deployments", '{"uri":"http://127.0.0.1:9080"}'));
  await until(() => request(8080, "/order/run", '{"sku":"a chair made of oak","total":70}'));
  await round(2);
  for (let nth = 0; nth < Number(rounds); nth++) console.log(`round ${await round(Number(seconds))}`);
} catch (error) {
  console.error(error.message);
  failed = 1;
}
children.forEach((child) => child.kill("SIGKILL"));
process.exit(failed);
