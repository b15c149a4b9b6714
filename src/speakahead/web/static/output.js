// The way of all sound to the loudspeaker, and what can be known about it.

const RATE = 24_000; // of the engine: nothing is resampled before the browser's own output
export const AUDIBLE_DB = -50;

export class Output extends EventTarget {
  static #opening = null;

  /** The page's only output. Call it first from a click or a key: browsers insist on one. */
  static open() {
    if (!Output.#opening) {
      // Made before anything is awaited, or it would not count as the user's doing.
      const context = new AudioContext({ sampleRate: RATE, latencyHint: "interactive" });
      Output.#opening = Output.#build(context).catch((error) => {
        Output.#opening = null; // the agent may be away: try again with the next click
        context.close();
        throw error;
      });
    }
    return Output.#opening;
  }

  static async #build(context) {
    const load = (name) =>
      context.audioWorklet.addModule(new URL(`./worklets/${name}.js`, import.meta.url));
    await Promise.all([load("queue"), load("meter")]);
    return new Output(context);
  }

  constructor(context) {
    super();
    this.context = context;
    this.input = new GainNode(context);
    this.analyser = new AnalyserNode(context, { fftSize: 2048 });
    this.meter = new AudioWorkletNode(context, "meter", {
      channelCount: 1,
      channelCountMode: "explicit",
      outputChannelCount: [1],
      processorOptions: { threshold: 10 ** (AUDIBLE_DB / 20) },
    });
    this.input.connect(this.meter).connect(this.analyser).connect(context.destination);
    this.meter.port.onmessage = ({ data }) => {
      const kind = "audible" in data ? "audible" : "levels";
      this.dispatchEvent(new CustomEvent(kind, { detail: data }));
    };
    context.onstatechange = () => this.dispatchEvent(new Event("state"));
  }

  get running() {
    return this.context.state === "running";
  }

  /** @returns {Promise<boolean>} whether sound can be heard now */
  async resume() {
    const patience = new Promise((resolve) => setTimeout(resolve, 400));
    await Promise.race([this.context.resume(), patience]); // waits for a click where it must
    return this.running;
  }

  /** Tell the "audible" event of this run's first audible sample. */
  listenFor(run) {
    this.meter.port.postMessage({ arm: run });
  }

  /** The context time (s) that leaves the loudspeaker at `now` (ms, as performance.now()). */
  heardTime(now = performance.now()) {
    const stamp = this.#stamp();
    return stamp.contextTime + (now - stamp.performanceTime) / 1000;
  }

  /** When (ms, as performance.now()) the sound of this context time leaves the loudspeaker. */
  leavesAt(time) {
    const stamp = this.#stamp();
    return stamp.performanceTime + (time - stamp.contextTime) * 1000;
  }

  #stamp() {
    const stamp = this.context.getOutputTimestamp?.();
    if (stamp?.performanceTime && performance.now() - stamp.performanceTime < 1000) return stamp;
    const latency = (this.context.baseLatency || 0) + (this.context.outputLatency || 0);
    return {
      contextTime: Math.max(0, this.context.currentTime - latency),
      performanceTime: performance.now(),
    };
  }

  /** What is being heard now, in dBFS: the highest of the last 2,048 samples. */
  level() {
    const samples = new Float32Array(this.analyser.fftSize);
    this.analyser.getFloatTimeDomainData(samples);
    const peak = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
    return 20 * Math.log10(Math.max(peak, 1e-6));
  }
}
