// Plays samples in the order in which they come, and tells when it has to wait for them.
//
// In:  {samples: Float32Array, cushion} | {end: true} (no more come) | {stop: true} (fade out at once);
//      it plays when `cushion` samples, or all, are there
// Out: {state: "playing" | "waiting" | "finished", time, position}: from context time `time` (s),
//      with `position` samples played before it

class Queue extends AudioWorkletProcessor {
  #pieces = [];
  #offset = 0; // in the first piece
  #waiting = 0; // samples in all pieces
  #position = 0;
  #playing = false;
  #ended = false;
  #stopping = false;
  #finished = false;
  #cushion;

  constructor({ processorOptions }) {
    super();
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
    if (!this.#playing && this.#waiting && (this.#ended || this.#waiting >= this.#cushion)) {
      this.#playing = true;
      this.#tell("playing", 0);
    }
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
