// The worker of a lesson: runs its cluster, answers its reader as a server would, and obeys the controls.
import init, { Worker as Lesson, digest_of } from "./{{lesson.js}}";

// The interval of time steps while it plays, and the longest between two feeds of the reader, in milliseconds.
const TICK = 16, CARE = 5000;

const load = async () => {
  const { body } = await fetch(new URL("./{{lesson_bg.wasm}}", import.meta.url));
  // Compiled as it comes, whatever type the server gives it.
  await init({ module_or_path: new Response(body, { headers: { "Content-Type": "application/wasm" } }) });
};
const loaded = load();

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
  start({ fragment }) {
    lesson = new Lesson(fragment);
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

onmessage = async ({ data }) => {
  try {
    await loaded;
    if (!failed) hear[data.do](data);
  } catch (error) {
    failed = true;
    postMessage({ failed: String(error) });
  }
};
setInterval(feed, CARE);
