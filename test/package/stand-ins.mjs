// Loaded before a snippet: what goes to a provider goes to its stand-in instead, and a Worker gets a request.
const standIns = JSON.parse(process.env.STAND_INS ?? "{}");
const { fetch } = globalThis;
globalThis.fetch = (input, init) => {
  const url = new URL(input instanceof Request ? input.url : input);
  const standIn = standIns[url.origin];
  if (standIn === undefined) throw new Error(`The snippet asks for ${url.href}`);
  return fetch(`${standIn}${url.pathname}${url.search}`, init);
};

const module = await import(new URL(process.argv[2] ?? "", `file://${process.cwd()}/`).href);
const answer = await module.default?.fetch(new Request("http://worker.example/"), process.env);
if ((answer?.status ?? 200) !== 200) throw new Error(`The worker answered ${answer.status}.`);
