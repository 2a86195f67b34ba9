// The worker of a recording: reads its file and answers its viewer as a server would. For a page in one file it saves a
// range of the records that the page holds. The module decides; this script is its host.
import init, { Reading, Save } from "./{{recording.js}}";
import { deflatedBy, FORMAT, streamed } from "./{{streams.js}}";

// The most chapters and bodies that are read at once, and the most that may wait; above it a body or notes get 500.
const AT_ONCE = 2, WAITING = 64;
// The milliseconds after which a search pauses, so that the worker can serve its viewer.
const SLICE_MS = 4;
// The longest timeout in milliseconds; setTimeout accepts a little more.
const LONGEST_MS = 2e9;

const load = async () => {
  const { body } = await fetch(new URL("./{{recording_bg.wasm}}", import.meta.url));
  // Compiled as it comes, whatever type the server gives it.
  await init({ module_or_path: new Response(body, { headers: { "Content-Type": "application/wasm" } }) });
};
const loaded = load();

let failed = false;
// After a panic the module cannot be used any more.
const fail = (error) => {
  if (!failed) postMessage({ failed: String(error) });
  failed = true;
};
const throwPanic = (error) => {
  if (error instanceof WebAssembly.RuntimeError) throw error;
};

// Inflating

const canInflate = () => {
  try {
    return Boolean(new DecompressionStream(FORMAT));
  } catch {
    return false;
  }
};

// Returns at most one byte more than stated; undefined if the bytes are no deflate stream.
const inflated = async (bytes, rawBytes) => {
  const reader = streamed(bytes, new DecompressionStream(FORMAT)).getReader();
  const most = rawBytes + 1, parts = [];
  let length = 0;
  try {
    while (length < most) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
      length += value.length;
    }
  } catch {
    return undefined;
  }
  // It may have failed by itself meanwhile.
  reader.cancel().catch(() => {});
  const raw = new Uint8Array(Math.min(length, most));
  let at = 0;
  for (const part of parts) {
    raw.set(part.subarray(0, raw.length - at), at);
    at += part.length;
  }
  return raw;
};

// The file

// The open file and its recording. `opens` counts the requests to open, `reader` is the viewer's number.
let opened, reader, opens = 0, timer;

// Feeds a machine with what it needs; returns what it needs next. A machine that nobody wants any more gets nothing.
const feedWith = async (machine, needs, file, isWanted) => {
  const { offset, length, rawBytes } = needs;
  if (rawBytes === undefined) {
    needs.free();
    const bytes = await file.slice(offset, offset + length).arrayBuffer();
    return isWanted() ? machine.bytes(new Uint8Array(bytes)) : undefined;
  }
  const bytes = await inflated(needs.deflated(), rawBytes);
  return isWanted() ? machine.inflated(bytes) : undefined;
};
// Feeds a machine to its end; returns whether it got there.
const read = async (reading, file, isWanted = () => true) => {
  let needs = reading.begin();
  while (needs) needs = await feedWith(reading, needs, file, isWanted);
  return isWanted();
};
const cannotBeRead = (name, error) => `${name} cannot be read: ${error.message}`;

let reads = 0;
const waiting = [];
// Reads a chapter or a body in its turn. If the file cannot be read, the machine ends with that error.
const readInTurn = async (reading, { name, file }) => {
  if (reads < AT_ONCE) reads++;
  else await new Promise((resolve) => waiting.push(resolve));
  try {
    await read(reading, file);
  } catch (error) {
    throwPanic(error);
    reading.fail(cannotBeRead(name, error));
  } finally {
    // The next waiting read takes over the turn.
    if (waiting.length) waiting.shift()();
    else reads--;
  }
};

const open = async (file) => {
  const name = file.name ?? "recording.wscope", number = ++opens;
  const isWanted = () => number === opens;
  if (!canInflate()) {
    const what = `this browser cannot inflate ${name}`;
    postMessage({ refused: { what, advice: "Open it in a newer browser." } });
    return;
  }
  const reading = new Reading(name, file.size);
  try {
    if (!await read(reading, file, isWanted)) {
      reading.free();
      return;
    }
  } catch (error) {
    throwPanic(error);
    reading.free();
    const advice = "It may have been moved or changed. Open it again.";
    if (isWanted()) postMessage({ refused: { what: cannotBeRead(name, error), advice } });
    return;
  }
  let recording;
  try {
    recording = reading.recording();
  } catch (notice) {
    throwPanic(notice);
    postMessage({ refused: JSON.parse(notice) });
    return;
  }
  // The recording before had a viewer of its own.
  clearTimeout(timer);
  reader = undefined;
  opened?.recording.free();
  opened = { name, file, recording };
  postMessage({ opened: JSON.parse(recording.about()) });
};

// The viewer

const fetchChapter = async (of, reading) => {
  await readInTurn(reading, of);
  if (opened !== of) {
    reading.free();
    return;
  }
  of.recording.fetched(reading);
  feed();
};

const feed = () => {
  clearTimeout(timer);
  while (reader !== undefined) {
    const next = opened.recording.next(performance.now());
    const bytes = next.message(), chapter = next.chapter(), { until, isOver } = next;
    next.free();
    if (bytes) postMessage({ reader, bytes }, [bytes.buffer]);
    else if (chapter) fetchChapter(opened, chapter).catch(fail);
    else if (isOver) reader = undefined;
    else {
      const wait = () => guarded(feed);
      if (until !== undefined) timer = setTimeout(wait, Math.min(Math.ceil(until - performance.now()), LONGEST_MS));
      return;
    }
  }
};

// Reads a body, or the notes of persons.
const answer = async (id, begin) => {
  if (!opened) {
    postMessage({ id, status: 404 });
    return;
  }
  if (waiting.length >= WAITING) {
    postMessage({ id, status: 500, why: "too many objects are asked for at once" });
    return;
  }
  const reading = begin(opened.recording);
  await readInTurn(reading, opened);
  const { status, why } = reading, bytes = reading.body();
  if (bytes) postMessage({ id, status, bytes }, [bytes.buffer]);
  else postMessage(why === undefined ? { id, status } : { id, status, why });
};

// Searching

// The number of the search that is wanted.
let wanted;
// Lets the worker handle the messages that wait. A timer would wait 4 ms more.
const pause = () =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });

// Searches the whole file, and sends lines as they come. The next search ends it.
const search = async ({ number, text, before }) => {
  wanted = number;
  const of = opened;
  const isWanted = () => number === wanted && of === opened;
  if (!of || text === undefined) return;
  let machine;
  try {
    machine = of.recording.search(text, before);
  } catch (why) {
    throwPanic(why);
    postMessage({ searched: number, why: String(why) });
    return;
  }
  const send = () => {
    const bytes = machine.lines();
    if (bytes) postMessage({ searched: number, bytes }, [bytes.buffer]);
  };
  try {
    let began = performance.now(), needs = machine.begin();
    while (isWanted() && !machine.isOver) {
      if (needs) {
        needs = await feedWith(machine, needs, of.file, isWanted);
      } else {
        if (performance.now() - began >= SLICE_MS) {
          send();
          await pause();
          began = performance.now();
        }
        if (isWanted()) needs = machine.begin();
      }
    }
    if (!isWanted()) return;
    send();
    postMessage({ searched: number, isOver: true });
  } catch (error) {
    throwPanic(error);
    if (isWanted()) postMessage({ searched: number, why: cannotBeRead(of.name, error) });
  } finally {
    machine.free();
  }
};

const save = async ({ id, fromUs, toUs, chapters, notes }) => {
  const made = new Save(fromUs, toUs);
  // The module has a copy.
  while (chapters.length) made.add(chapters.shift());
  try {
    made.addNotes(notes);
    await deflatedBy((bytes) => made.next(bytes));
  } catch (why) {
    throwPanic(why);
    made.free();
    postMessage({ id, why: why.message ?? String(why) });
    return;
  }
  const count = made.notes, bytes = made.file();
  postMessage({ id, bytes, count }, [bytes.buffer]);
};

const hear = {
  open: ({ file }) => open(file),
  read({ number }) {
    if (!opened) return;
    reader = number;
    opened.recording.connect();
    feed();
  },
  message({ number, bytes }) {
    if (number !== reader) return;
    opened.recording.receive(bytes, performance.now());
    feed();
  },
  body: ({ id, epoch, seq }) => answer(id, (recording) => recording.body(epoch, seq)),
  save,
  search,
  notes: ({ id }) => answer(id, (recording) => recording.notes()),
};

const guarded = async (work) => {
  try {
    if (!failed) await work();
  } catch (error) {
    fail(error);
  }
};
onmessage = ({ data }) => guarded(async () => {
  await loaded;
  if (!failed) await hear[data.do](data);
});
