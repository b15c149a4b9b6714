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
  #gap = null;

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
    return this.#sentences.length;
  }

  received(bytes) {
    this.mark("first_audio_byte");
    this.chunks.push([this.at(), bytes]);
  }

  waiting({ position, at }) {
    this.#gap = { at: this.at(at), position_s: position };
  }

  /** The sound goes on: was it the model, or the speech, that was late? */
  playing({ at }) {
    if (!this.#gap) return;
    const { at: start, position_s } = this.#gap;
    this.#gap = null;
    const next = this.#sentences.find((sentence) => sentence.start_s >= position_s - 0.05);
    const before = this.#sentences.filter((sentence) => sentence.start_s < position_s - 0.05).at(-1);
    const inside = before !== undefined && position_s < before.end_s - 0.05;
    const ready = next === undefined ? 0 : this.#writtenAt(next.end);
    const late = inside || (this.settings.mode === "batch") || start - ready > LATE_MS;
    this.gaps.push({
      at: start,
      length: Math.round((this.at(at) - start) * 10) / 10,
      position_s: Math.round(position_s * 1000) / 1000,
      kind: late ? "underrun" : "waiting_for_text",
    });
  }

  heard({ time, peak, length }) {
    this.levels.push([this.at(time), Math.round(peak * 1000) / 1000, Math.round(length * 1000)]);
  }

  end(outcome) {
    this.outcome = outcome;
    this.mark("end");
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
}
