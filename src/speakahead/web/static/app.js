// The page: one question at a time, answered in one way, or in both for comparison.

import { Cushion } from "./cushion.js";
import { Dictation, dictationOffered } from "./dictation.js";
import { Output } from "./output.js";
import { plays } from "./players.js";
import { Record } from "./record.js";
import { ReplyText } from "./reply-text.js";
import { NAMES, Timeline, figures, seconds } from "./timeline.js";
import { SocketTurn } from "./transports.js";
import { Turn } from "./turn.js";

const $ = (id) => document.getElementById(id);
const form = $("ask");
const prompt = $("prompt");
const timeline = new Timeline($("timeline"));

const LISTENING = "Listening.";
const STATES = { asking: "Asked.", writing: "Writing.", speaking: "Speaking." };

const page = {
  output: null,
  cushion: new Cushion(), // learns from turn to turn
  session: null, // of the conversation
  unheard: null, // seconds heard of the last turn, if the agent was not told of the interruption
  records: [],
  job: null, // {turn, stopped, done}: what is going on
};

// -- asking ---------------------------------------------------------------------------------------

async function ask(text) {
  const opening = Output.open(); // first of all: this is the user's click
  const chosen = settings();
  const before = interrupt();
  // From now on it is this job that is interrupted, also while the one before is still ending.
  const job = { turn: null, stopped: false };
  page.job = job;
  job.done = before
    .then(() => answer(job, text, chosen, opening))
    .catch((error) => {
      console.error(error);
      say("The page cannot play sound. Is the agent still running?");
    })
    .finally(() => {
      if (page.job === job) page.job = null;
      showBusy();
    });
  showBusy();
  await job.done;
}

async function answer(job, text, { mode, ...chosen }, opening) {
  page.output = await opening;
  await hearable();
  if (job.stopped) return; // by a newer question, or before it could be heard
  page.records = [];
  $("times").hidden = false;
  const modes = mode === "race" ? ["bidi", "batch"] : [mode];
  const replies = addExchange(text, modes);
  let first = null;
  for (const [index, each] of modes.entries()) {
    if (job.stopped || first?.pieces.length === 0) break;
    first = await play(job, text, each, chosen, replies[index], first);
  }
  timeline.stop();
  showFigures();
}

/** Play one run; the second one of a race speaks the words of the `first` at the same times. */
async function play(job, text, mode, { transport, ...sound }, element, first) {
  const request = { prompt: text, mode, ...sound };
  if (first) {
    request.replay = first.pieces;
    if (first.cushion_s !== null) page.cushion.seconds = first.cushion_s; // all else is equal
  } else {
    if (page.session) request.session_id = page.session;
    if (page.unheard !== null) request.played_s = page.unheard;
  }
  const record = new Record({ ...request, replay: undefined, transport });
  page.records.push(record);
  const reply = new ReplyText(element);
  const { output, cushion } = page;
  const turn = new Turn({ request, transport, output, cushion, record, reply });
  turn.addEventListener("state", ({ detail }) => say(STATES[detail]));
  turn.addEventListener("notice", ({ detail }) => notice(element, detail));
  job.turn = turn;
  timeline.show(page.records);
  element.classList.add("live");
  const showing = setInterval(showFigures, 500);
  const outcome = await turn.run();
  clearInterval(showing);
  element.classList.remove("live");
  if (!first && turn.sessionId !== null) {
    page.session = turn.sessionId;
    page.unheard = turn.interruptedAt;
  }
  say(ending(outcome, record));
  if (outcome === "error" && !first) job.stopped = true; // nothing to race against
  if (transport === "ws" && outcome !== "error") SocketTurn.prepare();
  return record;
}

function ending(outcome, record) {
  if (outcome === "interrupted") return `Interrupted after ${seconds(record.played_s * 1000, 1)}.`;
  if (outcome === "error") return "Ended with an error.";
  const { first_audible } = record.marks;
  return first_audible === undefined ? "Done." : `Done. Heard after ${seconds(first_audible)}.`;
}

async function interrupt() {
  const job = page.job;
  if (!job) return;
  job.stopped = true;
  job.turn?.interrupt();
  await job.done;
}

// -- sound that waits for a click -----------------------------------------------------------------

async function hearable() {
  if (await page.output.resume()) return;
  $("resume").hidden = false;
  say("The browser plays no sound before a click.");
  await new Promise((resolve) => {
    const check = () => {
      if (!page.output.running) return;
      page.output.removeEventListener("state", check);
      resolve();
    };
    page.output.addEventListener("state", check);
    check();
  });
  $("resume").hidden = true;
  say("");
}

$("resume").querySelector("button").addEventListener("click", () => page.output?.resume());

for (const kind of ["pointerdown", "keydown"]) {
  // Ready before the first question is asked; again where the system has put the sound to sleep.
  addEventListener(kind, (event) => {
    if (event.key !== "Escape") Output.open().then((output) => output.resume(), () => {});
  });
}

// -- what is shown --------------------------------------------------------------------------------

function addExchange(question, modes) {
  $("welcome")?.remove();
  const article = document.createElement("article");
  const asked = document.createElement("h2");
  asked.textContent = question;
  const replies = document.createElement("div");
  replies.className = modes.length > 1 ? "replies race" : "replies";
  const elements = modes.map((mode) => {
    const column = document.createElement("div");
    column.className = `reply ${mode}`;
    if (modes.length > 1) {
      const title = document.createElement("h3");
      title.textContent = NAMES[mode];
      column.append(title);
    }
    const text = document.createElement("p");
    text.className = "text";
    column.append(text);
    replies.append(column);
    return text;
  });
  article.append(asked, replies);
  $("conversation").append(article);
  article.scrollIntoView({ block: "start" });
  return elements;
}

function notice(element, sentence) {
  const note = document.createElement("p");
  note.className = "notice";
  note.textContent = sentence;
  element.after(note);
  say(sentence);
}

function say(sentence) {
  $("status").textContent = sentence;
}

function showBusy() {
  const busy = page.job !== null;
  const button = $("interrupt");
  if (!busy && document.activeElement === button) prompt.focus();
  button.hidden = !busy;
  document.body.classList.toggle("busy", busy);
}

function showFigures() {
  $("figures").tBodies[0].replaceChildren(...figures(page.records));
  const [ahead, waits] = page.records.map((record) => record.marks.first_audible);
  const headline = $("headline");
  if (ahead !== undefined && waits !== undefined) {
    const sooner = waits - ahead;
    headline.textContent = sooner >= 0 ? "sooner" : "later";
    const number = document.createElement("strong");
    number.textContent = seconds(Math.abs(sooner));
    headline.prepend(number, " ");
  } else if (ahead !== undefined) {
    headline.textContent = "until the first sound";
    const number = document.createElement("strong");
    number.textContent = seconds(ahead);
    headline.prepend(number, " ");
  } else {
    headline.textContent = "";
  }
}

// -- controls -------------------------------------------------------------------------------------

function settings() {
  const value = (name) => form.elements[name].value;
  const chosen = {
    mode: value("mode"),
    transport: value("transport"),
    format: value("format"),
    speed: Number(value("speed")),
  };
  if (value("voice")) chosen.voice = value("voice");
  return chosen;
}

function submit() {
  const text = prompt.value.trim();
  if (!text) return;
  prompt.value = "";
  fit();
  ask(text);
}

function fit() {
  prompt.rows = Math.min(6, prompt.value.split("\n").length);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});

prompt.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    submit();
  }
});

new ResizeObserver(() => {
  document.documentElement.style.setProperty("--form-height", `${form.offsetHeight}px`);
}).observe(form);

prompt.addEventListener("input", () => {
  fit();
  if (prompt.value) interrupt();
});

$("interrupt").addEventListener("click", () => interrupt());

addEventListener("keydown", (event) => {
  if (event.key === "Escape") interrupt();
});

form.elements.speed.addEventListener("input", ({ target }) => {
  form.elements["speed-shown"].value = Number(target.value).toFixed(2);
});

for (const button of $("suggestions").querySelectorAll("button")) {
  button.addEventListener("click", () => {
    prompt.focus();
    ask(button.textContent);
  });
}

$("save").addEventListener("click", () => {
  const saved = {
    kind: "speakahead time line",
    version: 1,
    saved_at: new Date().toISOString(),
    browser: navigator.userAgent,
    sample_rate: page.output?.context.sampleRate ?? null,
    output_latency_s: page.output?.context.outputLatency ?? null,
    runs: page.records,
  };
  const url = URL.createObjectURL(
    new Blob([JSON.stringify(saved, null, 1)], { type: "application/json" }),
  );
  const link = document.createElement("a");
  link.href = url;
  link.download = "speakahead-timeline.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
});

if (dictationOffered) {
  const button = $("dictate");
  const dictation = new Dictation();
  button.hidden = false;
  const listen = () => {
    if (dictation.listening) say(LISTENING);
  };
  button.addEventListener("click", () => {
    if (dictation.listening) {
      dictation.stop();
    } else {
      interrupt().then(listen); // or it would hear the agent
      dictation.start();
    }
  });
  dictation.addEventListener("state", ({ detail: listening }) => {
    button.setAttribute("aria-pressed", String(listening));
    if (listening) say(LISTENING);
    else if ($("status").textContent === LISTENING) say(""); // else it tells of something newer
  });
  dictation.addEventListener("problem", ({ detail }) => say(detail));
  dictation.addEventListener("text", ({ detail: { text, final } }) => {
    prompt.value = text;
    fit();
    if (final) submit();
  });
}

async function offer() {
  for (const option of form.elements.format.options) option.disabled = !plays(option.value);
  const response = await fetch(new URL("menu.json", document.baseURI)).catch(() => null);
  const menu = response?.ok ? await response.json() : { voices: [], voice: "", model: "" };
  const voices = menu.voices.length ? menu.voices : [menu.voice];
  form.elements.voice.replaceChildren(
    ...voices.map((name) => new Option(name, name, false, name === menu.voice)),
  );
  if (menu.model) $("about").textContent = `${menu.model}, speaking while it writes`;
  SocketTurn.prepare();
}

offer();
prompt.focus();
