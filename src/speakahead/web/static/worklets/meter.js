// Passes sound through, and tells how loud it is: this is the last thing before the output.

const WINDOW_S = 0.02;
const TOGETHER = 5; // windows; a message for each would cost the page more than the voice

class Meter extends AudioWorkletProcessor {
  #threshold;
  #armed = null; // the run whose first audible sample is looked for
  #peak = 0;
  #count = 0;
  #levels = []; // {time, peak, length}

  constructor({ processorOptions }) {
    super();
    this.#threshold = processorOptions.threshold;
    this.port.onmessage = ({ data }) => (this.#armed = data.arm);
  }

  process([input], [output]) {
    const samples = input[0];
    if (samples) {
      for (const channel of output) channel.set(samples);
      for (let i = 0; i < samples.length; i++) {
        const level = Math.abs(samples[i]);
        if (level > this.#peak) this.#peak = level;
        if (this.#armed !== null && level >= this.#threshold) {
          this.port.postMessage({ audible: this.#armed, time: (currentFrame + i) / sampleRate });
          this.#armed = null;
        }
      }
    }
    this.#count += output[0].length;
    if (this.#count >= WINDOW_S * sampleRate) {
      const time = (currentFrame + output[0].length - this.#count) / sampleRate;
      this.#levels.push({ time, peak: this.#peak, length: this.#count / sampleRate });
      this.#peak = this.#count = 0;
      if (this.#levels.length === TOGETHER) {
        this.port.postMessage({ levels: this.#levels });
        this.#levels = [];
      }
    }
    return true;
  }
}

registerProcessor("meter", Meter);
