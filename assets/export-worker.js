// The worker of an export: from the frames that a page hands over it makes the dialog's previews, and files. It runs an
// instance of the page's own modules, which the browser has already, with one more part. The module decides; this
// script is its host.
import init from "./{{frontend.js}}";
import { deflatedBy } from "./{{streams.js}}";

// The numbers of requests to the module, as answer.rs has them.
const RECORDS = 0, CHAPTER = 1, NOTES = 2, MAKE = 3, SVG = 4, MARKDOWN = 5, CSV = 6, JSONL = 7, TRACE = 8, REPORT = 9;
const CHARTS = 10, HTML = 11, DEFLATED = 12, RECORDING = 13, HASHES = 14, HASH = 15, HASHED = 16;
// The bytes of a file that are hashed at once.
const PIECE_BYTES = 1 << 20;
// The most lines and letters of a text's preview.
const LINES = 20, LETTERS = 4_000;
// Above this number of records a text or trace has no preview, since each one would take seconds.
const MOST_SHOWN = 50_000;

// Compiled as it comes, whatever type the server gives it.
const fetched = async (url) => {
  const { body } = await fetch(url);
  return new Response(body, { headers: { "Content-Type": "application/wasm" } });
};
// Promises the function that takes requests. It comes from the part of exports, which the page's modules load where they
// find no page.
const loaded = new Promise((resolve, reject) => {
  const wasm = (url) => {
    const module = fetched(url);
    module.catch(reject);
    return module;
  };
  globalThis.watchscopeBridge = { listen: resolve, wasm };
  init({ module_or_path: wasm(new URL("./{{frontend_bg.wasm}}", import.meta.url)) }).catch(reject);
});
let take;
// Sends a request to the module, and returns the answer.
const ask = (what, given) => {
  const request = { ...given };
  take(what, request);
  if (request.why !== undefined) throw new Error(request.why);
  return request.answer;
};
const seed = crypto.getRandomValues(new Uint8Array(32));

// The number of chapters; the facts of the last wish, and its files: each is made once, since the preview is the file.
let count, made, wished;
// The hash of the file that the page shows, where a picture names it.
let source;
const files = new Map();
const forget = () => {
  made = wished = undefined;
  files.clear();
};
const fileOf = async (form) => {
  // The page draws a PNG, from the SVG.
  const kept = form === "png" ? "svg" : form;
  if (!files.has(kept)) files.set(kept, await FORMS[kept]());
  return files.get(kept);
};

// Forms

const decoder = new TextDecoder();
const recording = async () => {
  await deflatedBy((bytes) => ask(DEFLATED, { bytes }));
  return ask(RECORDING);
};
const html = async () => {
  const answer = await fetch(new URL("./single.html", import.meta.url));
  if (!answer.ok) throw new Error("the page that the file would hold cannot be loaded");
  return ask(HTML, { text: await answer.text(), bytes: await fileOf("wscope") });
};
const FORMS = {
  svg: () => ask(SVG),
  md: () => ask(MARKDOWN),
  csv: () => ask(CSV),
  jsonl: () => ask(JSONL),
  trace: () => ask(TRACE),
  report: () => ask(REPORT),
  charts: () => JSON.parse(ask(CHARTS)),
  html,
  wscope: recording,
};
const PICTURES = ["svg", "png", "html", "wscope"];

const firstLines = (of) => {
  const text = typeof of === "string" ? of : decoder.decode(of);
  const lines = text.split("\n", LINES + 1);
  const rest = lines.length > LINES;
  return lines.slice(0, LINES).join("\n").slice(0, LETTERS) + (rest ? "\n…" : "");
};

// Returns a form's preview: pictures, or the first lines; and the file's length in bytes, if it was made.
const preview = async (form, { records: count }) => {
  if (PICTURES.includes(form)) {
    const picture = await fileOf("svg");
    return { pictures: [picture], bytes: form === "svg" ? new Blob([picture]).size : undefined };
  }
  if (form === "charts") return { pictures: await fileOf(form) };
  if (form === "report") return { pictures: [await fileOf("svg"), ...(await fileOf("charts"))] };
  if (count > MOST_SHOWN) return { lines: "" };
  const file = await fileOf(form);
  const bytes = typeof file === "string" ? new Blob([file]).size : file.length;
  return form === "trace" ? { lines: "", bytes } : { lines: firstLines(file), bytes };
};

// Returns the hash of an opened file, or the one that the server has of its file; undefined if neither is named.
const hashOf = async ({ file, isEnded, hash }) => {
  if (!file) return hash;
  if (!ask(HASHES, { isEnded, length: file.size })) return undefined;
  for (let at = 0; at < file.size; at += PIECE_BYTES) {
    const bytes = await file.slice(at, at + PIECE_BYTES).arrayBuffer();
    ask(HASH, { bytes: new Uint8Array(bytes) });
  }
  return ask(HASHED);
};

const hear = {
  async records({ fromUs, toUs, chapters, notes, shown }) {
    forget();
    source ??= await hashOf(shown);
    ask(RECORDS, { fromUs, toUs, bytes: seed });
    count = chapters.length;
    // The module has a copy.
    while (chapters.length) ask(CHAPTER, { bytes: chapters.shift() });
    ask(NOTES, { bytes: notes });
    return {};
  },
  async make({ wish, form }, tell) {
    const text = JSON.stringify(wish);
    if (wished !== text) {
      forget();
      made = JSON.parse(ask(MAKE, { text, source, progress: (done) => tell(done, count) }));
      wished = text;
    }
    return { facts: made, preview: await preview(form, made) };
  },
  async file({ form }) {
    return { file: await fileOf(form) };
  },
};

// Requests are handled one after the other, in order.
let work = Promise.resolve();
onmessage = ({ data }) => {
  const progress = (done, of) => postMessage({ id: data.id, done, of });
  const answer = async () => {
    take ??= await loaded;
    postMessage({ id: data.id, ...(await hear[data.do](data, progress)) });
  };
  work = work.then(answer).catch((error) => postMessage({ id: data.id, why: error.message ?? String(error) }));
};
