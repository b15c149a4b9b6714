// Players of one stream of sound. Both have
//   push(bytes), end(), stop(), position() in seconds heard, finished (a promise),
// and tell by events: "received" (detail: seconds of sound in all), "decoded" (the first buffer),
// "waiting" and "playing" (detail: {position}). They begin, and go on after having had to wait, when
// sound has been there for as long as the `cushion` says, or when all is there.

import { LEAST_S } from "./cushion.js";

const MEDIA_TYPES = {
  mp3: "audio/mpeg",
  aac: 'audio/mp4; codecs="mp4a.40.2"',
  webm: 'audio/webm; codecs="opus"',
};

/** Whether this browser plays a format. */
export function plays(format) {
  if (format === "pcm") return true;
  return Boolean(globalThis.MediaSource?.isTypeSupported(MEDIA_TYPES[format] ?? ""));
}

export function openPlayer(output, format, cushion) {
  const Kind = format === "pcm" ? PcmPlayer : MediaPlayer;
  return new Kind(output, cushion, format);
}

class Player extends EventTarget {
  constructor() {
    super();
    const { promise, resolve } = Promise.withResolvers
      ? Promise.withResolvers()
      : deferred();
    this.finished = promise;
    this.finish = resolve;
    this.decoded = false;
  }

  tell(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }

  tellDecoded() {
    if (!this.decoded) this.tell("decoded");
    this.decoded = true;
  }
}

/** 16-bit samples at the context's rate, through a queue in the audio thread. */
class PcmPlayer extends Player {
  #output;
  #node;
  #cushion;
  #rate;
  #odd = new Uint8Array(0); // half a sample
  #samples = 0; // received
  #changes = []; // of the queue: {state, time, position in s}

  constructor(output, cushion) {
    super();
    this.#output = output;
    this.#cushion = cushion;
    const rate = (this.#rate = output.context.sampleRate);
    this.#node = new AudioWorkletNode(output.context, "queue", {
      numberOfInputs: 0,
      outputChannelCount: [1],
      processorOptions: { least: LEAST_S * rate, cushion: cushion.seconds * rate },
    });
    this.#node.connect(output.input);
    this.#node.port.onmessage = ({ data }) => {
      const change = { ...data, position: data.position / rate };
      this.#changes.push(change);
      if (data.state === "finished") this.#drain(change.time);
      else this.tell(data.state, { position: change.position, at: output.leavesAt(change.time) });
    };
  }

  push(bytes) {
    const all = new Uint8Array(this.#odd.length + bytes.length);
    all.set(this.#odd);
    all.set(bytes, this.#odd.length);
    const whole = all.length & ~1;
    this.#odd = all.slice(whole);
    if (!whole) return;
    const view = new DataView(all.buffer, 0, whole);
    const samples = new Float32Array(whole / 2);
    for (let i = 0; i < samples.length; i++) samples[i] = view.getInt16(2 * i, true) / 32768;
    this.#samples += samples.length;
    this.tell("received", this.#samples / this.#rate);
    const cushion = this.#cushion.seconds * this.#rate;
    this.#node.port.postMessage({ samples, cushion }, [samples.buffer]);
    this.tellDecoded();
  }

  end() {
    this.#node.port.postMessage({ end: true });
  }

  stop() {
    this.#node.port.postMessage({ stop: true });
    // A browser that has put the sound to sleep would never answer.
    setTimeout(() => this.#close(), 300);
  }

  position() {
    const now = this.#output.heardTime();
    const last = this.#changes.findLast((change) => change.time <= now);
    if (!last) return 0;
    return last.position + (last.state === "playing" ? now - last.time : 0);
  }

  /** What the queue has given away is still on its way to the loudspeaker. */
  #drain(time) {
    const left = Math.max(0, this.#output.leavesAt(time) - performance.now());
    setTimeout(() => this.#close(), Math.min(left, 1000));
  }

  #close() {
    this.#node.disconnect();
    this.finish();
  }
}

/** A container that the browser decodes, fed by Media Source Extensions. */
class MediaPlayer extends Player {
  #output;
  #audio = new Audio();
  #source = new MediaSource();
  #node;
  #buffer = null;
  #cushion;
  #waiting = [];
  #ended = false;
  #rolling = false;
  #heldSince = null; // when sound was there that is not played yet (ms)
  #started = false;
  #stopped = null; // the position at which it was stopped

  constructor(output, cushion, format) {
    super();
    this.#output = output;
    this.#cushion = cushion;
    this.#node = output.context.createMediaElementSource(this.#audio);
    this.#node.connect(output.input);
    this.#source.addEventListener("sourceopen", () => {
      URL.revokeObjectURL(this.#audio.src);
      this.#buffer = this.#source.addSourceBuffer(MEDIA_TYPES[format]);
      this.#buffer.addEventListener("updateend", () => this.#next());
      this.#next();
    }, { once: true });
    this.#audio.src = URL.createObjectURL(this.#source);
    this.#audio.onplaying = () => {
      this.#started = true;
      this.tell("playing", { position: this.#audio.currentTime, at: performance.now() });
    };
    this.#audio.onwaiting = () => {
      if (this.#started && this.#source.readyState === "open" && this.#stopped === null) {
        this.#rolling = false;
        this.#heldSince = null;
        this.#audio.pause();
        this.tell("waiting", { position: this.#audio.currentTime, at: performance.now() });
      }
    };
    this.#audio.onended = this.#audio.onerror = () => this.#close();
  }

  push(bytes) {
    this.#waiting.push(bytes);
    this.#next();
  }

  end() {
    this.#ended = true;
    this.#next();
  }

  stop() {
    this.#stopped = this.position();
    this.#audio.pause();
    this.#close();
  }

  position() {
    if (this.#stopped !== null) return this.#stopped;
    const { baseLatency, outputLatency } = this.#output.context;
    return Math.max(0, this.#audio.currentTime - (baseLatency || 0) - (outputLatency || 0));
  }

  #next() {
    const buffer = this.#buffer;
    if (!buffer || buffer.updating || this.#source.readyState !== "open") return;
    if (buffer.buffered.length) {
      this.tell("received", this.#bufferedEnd());
      this.tellDecoded();
    }
    this.#roll();
    if (this.#waiting.length) {
      try {
        buffer.appendBuffer(this.#waiting[0]);
        this.#waiting.shift();
      } catch (error) {
        if (error.name !== "QuotaExceededError") throw error;
        this.#makeRoom(buffer);
      }
    } else if (this.#ended) {
      this.#source.endOfStream();
      if (!buffer.buffered.length) this.#close(); // not one frame
      else this.#roll();
    }
  }

  /** Play, once there is enough. */
  #roll() {
    if (this.#rolling || this.#stopped !== null) return;
    if (this.#source.readyState !== "ended") {
      if (this.#bufferedEnd() - this.#audio.currentTime < LEAST_S) return;
      const now = performance.now();
      if (this.#heldSince === null) {
        this.#heldSince = now;
        setTimeout(() => this.#roll(), Math.ceil(1000 * this.#cushion.seconds));
      }
      if (now - this.#heldSince < 1000 * this.#cushion.seconds) return;
    }
    this.#rolling = true;
    this.#audio.play().catch((error) => {
      if (error.name !== "AbortError") this.#close(); // that one: paused before it began
    });
  }

  #bufferedEnd() {
    const { buffered } = this.#buffer;
    return buffered.length ? buffered.end(buffered.length - 1) : 0;
  }

  /** Long replies: forget what was heard, or try again when more of it was. */
  #makeRoom(buffer) {
    const heard = this.#audio.currentTime - 5;
    if (heard > 0 && buffer.buffered.start(0) < heard) buffer.remove(0, heard);
    else setTimeout(() => this.#next(), 500);
  }

  #close() {
    this.#stopped ??= this.#audio.currentTime;
    this.#node.disconnect();
    this.finish();
  }
}

function deferred() {
  let resolve;
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
}
