// The worker of an export: from the frames that a page hands over it makes the dialog's previews, and files. The module
// decides; this script is its host.
import init, { Records } from "./{{export.js}}";
import { deflatedBy } from "./{{streams.js}}";

// The most lines and letters of a text's preview.
const LINES = 20, LETTERS = 4_000;
// Above this number of records a text or trace has no preview, since each one would take seconds.
const MOST_SHOWN = 50_000;

const load = async () => {
  const { body } = await fetch(new URL("./{{export_bg.wasm}}", import.meta.url));
  // Compiled as it comes, whatever type the server gives it.
  await init({ module_or_path: new Response(body, { headers: { "Content-Type": "application/wasm" } }) });
};
const loaded = load();
const seed = crypto.getRandomValues(new Uint8Array(32));

// The results of the last wish: each form is made once, since the preview is the file.
let records, made, wished;
const files = new Map();
const forget = () => {
  made?.free();
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
  await deflatedBy((bytes) => made.nextOfRecording(bytes));
  return made.recording();
};
const html = async () => {
  const answer = await fetch(new URL("./single.html", import.meta.url));
  if (!answer.ok) throw new Error("the page that the file would hold cannot be loaded");
  return made.html(await answer.text(), await fileOf("wscope"));
};
const FORMS = {
  svg: () => made.picture(),
  md: () => made.markdown(),
  csv: () => made.csv(),
  jsonl: () => made.jsonl(),
  trace: () => made.trace(),
  report: () => records.report(made),
  charts: () => records.charts(made),
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

const hear = {
  records({ fromUs, toUs, chapters, notes }) {
    forget();
    records?.free();
    records = new Records(fromUs, toUs, seed);
    // The module has a copy.
    while (chapters.length) records.add(chapters.shift());
    records.addNotes(notes);
    return {};
  },
  async make({ wish, form }, progress) {
    const words = JSON.stringify(wish);
    if (wished !== words) {
      forget();
      made = records.make(words, progress);
      wished = words;
    }
    const facts = JSON.parse(made.facts());
    return { facts, preview: await preview(form, facts) };
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
    await loaded;
    postMessage({ id: data.id, ...(await hear[data.do](data, progress)) });
  };
  work = work.then(answer).catch((error) => postMessage({ id: data.id, why: error.message ?? String(error) }));
};
