// Plays samples in the order in which they come, and tells when it has to wait for them.
//
// In:  {samples: Float32Array, cushion} | {end: true} (no more come) | {stop: true} (fade out at once);
//      it plays when `least` samples are there and `cushion` samples' time has passed since the
//      first of them came, or when all are there
// Out: {state: "playing" | "waiting" | "finished", time, position}: from context time `time` (s),
//      with `position` samples played before it

class Queue extends AudioWorkletProcessor {
  #pieces = [];
  #offset = 0; // in the first piece
  #waiting = 0; // samples in all pieces
  #position = 0;
  #playing = false;
  #held = 0; // samples' time for which sound has been held back
  #ended = false;
  #stopping = false;
  #finished = false;
  #least;
  #cushion;

  constructor({ processorOptions }) {
    super();
    this.#least = processorOptions.least;
    this.#cushion = processorOptions.cushion;
    this.port.onmessage = ({ data }) => {
      if (data.samples) {
        this.#pieces.push(data.samples);
        this.#waiting += data.samples.length;
        this.#cushion = data.cushion;
      }
      this.#ended ||= Boolean(data.end);
      this.#stopping ||= Boolean(data.stop);
    };
  }

  process(_, [output]) {
    const out = output[0];
    if (this.#finished) return false;
    if (!this.#playing && this.#ready()) {
      this.#playing = true;
      this.#held = 0;
      this.#tell("playing", 0);
    }
    if (!this.#playing && this.#waiting) this.#held += out.length;
    const filled = this.#playing ? this.#fill(out) : 0;
    if (this.#stopping) {
      for (let i = 0; i < filled; i++) out[i] *= 1 - i / out.length; // no click
      this.#finish(filled);
    } else if (this.#waiting === 0 && this.#ended) {
      this.#finish(filled);
    } else if (this.#playing && filled < out.length) {
      this.#playing = false;
      this.#tell("waiting", filled);
    }
    return !this.#finished;
  }

  #ready() {
    if (this.#ended) return this.#waiting > 0;
    return this.#waiting >= this.#least && this.#held >= this.#cushion;
  }

  #fill(out) {
    let filled = 0;
    while (filled < out.length && this.#pieces.length) {
      const piece = this.#pieces[0];
      const count = Math.min(out.length - filled, piece.length - this.#offset);
      out.set(piece.subarray(this.#offset, this.#offset + count), filled);
      filled += count;
      this.#offset += count;
      if (this.#offset === piece.length) {
        this.#pieces.shift();
        this.#offset = 0;
      }
    }
    this.#position += filled;
    this.#waiting -= filled;
    return filled;
  }

  #finish(filled) {
    this.#finished = true;
    this.#tell("finished", filled);
  }

  #tell(state, offset) {
    const time = (currentFrame + offset) / sampleRate;
    this.port.postMessage({ state, time, position: this.#position });
  }
}

registerProcessor("queue", Queue);
