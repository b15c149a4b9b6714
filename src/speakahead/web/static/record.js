// What happened in one turn, and when: all times in milliseconds since the request was sent.

const LATE_MS = 300; // a sentence that was there this long before its turn was spoken too late

export class Record {
  marks = {}; // name -> ms; the first time of each
  text = []; // [ms, characters so far]
  pieces = []; // for a replay: {at_s, text}
  chunks = []; // [ms, bytes on the wire]
  gaps = []; // {at, length, position_s, kind}: nothing to play in the middle of the stream
  levels = []; // [ms, peak 0..1, length in ms] as it left the loudspeaker
  cushion_s = null; // for how long the first sound was held back
  server = null; // the agent's own times
  outcome = null;
  #origin = performance.now();
  #characters = 0;
  #sentences = []; // {start_s, end_s, end (characters)}
  #gap = null; // the one that is going on
  #known = 0; // sentences, when it began

  /** @param settings mode, transport, format, voice, speed, prompt */
  constructor(settings) {
    this.settings = settings;
  }

  begin() {
    this.#origin = performance.now();
    this.marks.request_sent = 0;
  }

  at(now = performance.now()) {
    return Math.round((now - this.#origin) * 10) / 10;
  }

  mark(name, now) {
    this.marks[name] ??= this.at(now);
  }

  wrote(text) {
    const at = this.at();
    this.mark("first_text");
    this.#characters += Array.from(text).length;
    this.text.push([at, this.#characters]);
    this.pieces.push({ at_s: at / 1000, text });
    this.marks.text_complete = at; // so far
  }

  /**
   * The first sentence was complete when its last character had come.
   * @returns {number} sentences so far
   */
  sentence(captions) {
    const ends = captions.words.map((word) => word.end_s);
    this.#sentences.push({
      start_s: captions.start_s,
      end_s: Math.max(captions.start_s, ...ends),
      end: captions.end,
    });
    this.marks.first_sentence ??= this.#writtenAt(captions.end);
    if (!this.#gap) this.#judge();
    return this.#sentences.length;
  }

  received(bytes) {
    this.mark("first_audio_byte");
    this.chunks.push([this.at(), bytes]);
  }

  waiting({ position, at }) {
    this.#known = this.#sentences.length;
    this.#gap = {
      at: this.at(at),
      length: 0,
      position_s: Math.round(position * 1000) / 1000,
      kind: "waiting_for_text",
    };
  }

  /** The sound goes on. */
  playing({ at }) {
    if (!this.#gap) return;
    this.#gap.length = Math.round((this.at(at) - this.#gap.at) * 10) / 10;
    this.gaps.push(this.#gap);
    this.#gap = null;
    this.#judge();
  }

  /**
   * The latest gap: was it the model, or the speech, that was late? As long as it is not known what
   * comes next, nobody can say that it was the speech.
   */
  #judge() {
    const gap = this.gaps.at(-1);
    if (!gap) return;
    // A sentence that was not known when the sound stopped comes after that, whatever its times are.
    const known = this.#sentences.slice(0, this.#known);
    const begun = known.filter((sentence) => sentence.start_s < gap.position_s - 0.05);
    const inside = begun.length > 0 && gap.position_s < begun.at(-1).end_s - 0.05;
    const next = this.#sentences[begun.length];
    const late =
      inside ||
      this.settings.mode === "batch" ||
      (next !== undefined && gap.at - this.#completeAt(next) > LATE_MS);
    gap.kind = late ? "underrun" : "waiting_for_text";
  }

  heard({ time, peak, length }) {
    this.levels.push([this.at(time), Math.round(peak * 1000) / 1000, Math.round(length * 1000)]);
  }

  end(outcome) {
    this.outcome = outcome;
    this.mark("end");
    this.#judge();
  }

  count(kind) {
    return this.gaps.filter((gap) => gap.kind === kind).length;
  }

  get bytes() {
    return this.chunks.reduce((sum, [, bytes]) => sum + bytes, 0);
  }

  get ended() {
    return this.outcome !== null;
  }

  toJSON() {
    const { settings, marks, gaps, text, chunks, levels, cushion_s, server, outcome } = this;
    return { settings, outcome, marks_ms: marks, gaps_ms: gaps, bytes: this.bytes, cushion_s,
      server_s: server, text, chunks, levels };
  }

  #writtenAt(characters) {
    return (this.text.find(([, count]) => count >= characters) ?? [this.at()])[0];
  }

  /** Whether a full stop ends a sentence is seen by what follows it, or when the model is done. */
  #completeAt({ end }) {
    if (end + 2 <= this.#characters) return this.#writtenAt(end + 2);
    return 1000 * (this.server?.model_done_s ?? Infinity);
  }
}
