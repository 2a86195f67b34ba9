// The worker of a lesson: runs its cluster, answers its reader as a server would, and obeys the controls.
import init, { Worker as Lesson, digest_of, lesson_of } from "./{{lesson.js}}";

// The files with the lessons' texts by the lessons' names, and the list of all lessons as `index`.
const FILES = JSON.parse('{{=lesson-texts.json}}');

// The interval of time steps while it plays, and the longest between two feeds of the reader, in milliseconds.
const TICK = 16, CARE = 5000;

const load = async () => {
  const { body } = await fetch(new URL("./{{lesson_bg.wasm}}", import.meta.url));
  // Compiled as it comes, whatever type the server gives it.
  await init({ module_or_path: new Response(body, { headers: { "Content-Type": "application/wasm" } }) });
};
const loaded = load();

// Fetches a file of texts once, and returns the promise of its text.
const texts = new Map();
const fetchText = (name) => {
  if (!texts.has(name)) {
    const get = async () => {
      const answer = await fetch(new URL(`./${FILES[name]}`, import.meta.url));
      if (!answer.ok) throw `its texts cannot be loaded (${FILES[name]}: ${answer.status})`;
      return answer.text();
    };
    texts.set(name, get());
  }
  return texts.get(name);
};
// Begins to fetch what the lesson of a link most likely needs, while the module is loaded.
const expect = (fragment) => {
  const name = /[#&]lesson=([^&]*)/.exec(fragment)?.[1];
  for (const part of [name, "index"]) if (Object.hasOwn(FILES, part)) fetchText(part).catch(() => {});
};

let lesson, reader, ticking, failed;
const tell = () => postMessage({ now: lesson.now() });
const feed = () => {
  let bytes, isFed;
  while (reader !== undefined && (bytes = lesson.next(performance.now()))) {
    postMessage({ reader, bytes }, [bytes.buffer]);
    isFed = true;
  }
  if (isFed) postMessage({ fed: reader });
  return isFed;
};
const tick = () => {
  if (lesson.tick(performance.now())) {
    feed();
    tell();
  }
};

const hear = {
  async start({ fragment }) {
    lesson = new Lesson(fragment, await fetchText(lesson_of(fragment)), await fetchText("index"));
    postMessage({ text: lesson.lesson() });
    tell();
  },
  read({ number }) {
    reader = number;
    lesson.read(performance.now());
  },
  message({ number, bytes }) {
    if (number !== reader) return;
    lesson.receive(bytes, performance.now());
    if (feed()) tell();
  },
  say({ bytes }) {
    // Time up to now passed at the old speed.
    tick();
    const run = lesson.run();
    lesson.say(bytes);
    // The reader of the run before has to connect again.
    if (lesson.run() !== run) reader = undefined;
    feed();
    tell();
    clearInterval(ticking);
    if (lesson.is_playing()) {
      lesson.tick(performance.now());
      ticking = setInterval(tick, TICK);
    }
  },
  digest({ name, seed, server, client }) {
    postMessage({ digest: digest_of(name, seed, server, client) });
  },
};

// Messages are heard one after the other: those after the start wait for its texts.
let heard = loaded;
onmessage = ({ data }) => {
  if (data.do === "start") expect(data.fragment);
  heard = heard.then(async () => {
    if (!failed) await hear[data.do](data);
  }).catch((error) => {
    if (!failed) postMessage({ failed: String(error) });
    failed = true;
  });
};
setInterval(feed, CARE);
