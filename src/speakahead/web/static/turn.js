// One question and its answer: from the transport to the loudspeaker and the page.

import { openPlayer } from "./players.js";
import { TRANSPORTS, TurnError } from "./transports.js";

let runs = 0;

/** Events: "state" (detail: "asking", "writing", "speaking"), "notice" (detail: a sentence). */
export class Turn extends EventTarget {
  interruptedAt = null; // seconds heard, where the listener interrupted and the agent was not told
  sessionId = null; // told by the agent when it begins the turn
  #channel;
  #player = null;
  #stopped = false;
  #failed = false;

  constructor({ request, transport, output, cushion, record, reply }) {
    super();
    Object.assign(this, { request, transport, output, cushion, record, reply });
    this.id = ++runs;
  }

  /** @returns {Promise<"end" | "interrupted" | "error">} when all of it has been heard */
  async run() {
    const { record, output } = this;
    const audible = ({ detail }) => {
      if (detail.audible === this.id) record.mark("first_audible", output.leavesAt(detail.time));
    };
    const levels = ({ detail }) => {
      if (!this.#player) return;
      for (const level of detail.levels) {
        record.heard({ ...level, time: output.leavesAt(level.time) });
      }
    };
    output.addEventListener("audible", audible);
    output.addEventListener("levels", levels);
    output.listenFor(this.id);
    this.#tell("state", "asking");
    try {
      this.cushion.begin();
      record.begin();
      this.#channel = new TRANSPORTS[this.transport](this.request);
      await this.#follow();
    } catch (error) {
      if (!this.#stopped) this.#fail(error);
    }
    this.#player?.end(); // also when the connection broke: what has come is heard
    await this.#player?.finished;
    this.#channel?.close();
    this.cushion.close();
    output.removeEventListener("audible", audible);
    output.removeEventListener("levels", levels);
    record.end(this.#stopped ? "interrupted" : this.#failed ? "error" : "end");
    if (this.#failed && !this.#stopped) this.reply.cut(this.#player?.position() ?? 0);
    else if (!this.#stopped) this.reply.finish();
    return record.outcome;
  }

  async #follow() {
    const { record, reply } = this;
    for await (const event of this.#channel) {
      switch (event.type) {
        case "agent_start":
          this.sessionId = event.session_id;
          break;
        case "text_delta":
          if (this.#stopped) break;
          if (!record.text.length) this.#tell("state", "writing");
          record.wrote(event.text);
          reply.append(event.text);
          break;
        case "tool":
          if (event.state === "started") this.#tell("notice", `Looking it up: ${event.name}.`);
          break;
        case "audio_stream_start":
          if (!this.#stopped) this.#open(event.format);
          break;
        case "captions":
          if (this.#stopped) break;
          if (record.sentence(event) > 1) this.cushion.close();
          reply.caption(event);
          break;
        case "audio":
          if (this.#stopped) break; // it crossed the interruption on its way
          record.received(event.wire);
          this.#player?.push(event.bytes);
          break;
        case "error":
          this.#fail(new TurnError(event.message));
          // Refused before it began: nothing more will come.
          if (this.sessionId === null) return;
          break;
        case "agent_end":
          record.server = event.timings;
          break;
      }
    }
  }

  #open(format) {
    const player = (this.#player = openPlayer(this.output, format, this.cushion));
    this.record.cushion_s = this.cushion.seconds;
    player.addEventListener("received", ({ detail }) => {
      this.cushion.received(detail, performance.now());
    });
    player.addEventListener("decoded", () => this.record.mark("first_decoded"));
    player.addEventListener("waiting", ({ detail }) => this.record.waiting(detail));
    player.addEventListener("playing", ({ detail }) => {
      this.record.playing(detail);
      this.#tell("state", "speaking");
    });
    // A timer, not animation frames: frames without a change cost what the voice needs on small
    // machines, and the words would stand still in a hidden tab.
    const following = setInterval(() => {
      if (this.#stopped || this.record.ended) clearInterval(following);
      else this.reply.hear(player.position());
    }, 50);
  }

  /** Stop now; `run` ends soon after. */
  interrupt() {
    if (this.#stopped || this.record.ended) return;
    const played = Math.max(0, this.#player?.position() ?? 0);
    this.#stopped = true;
    this.record.mark("interrupted");
    this.#player?.stop();
    this.reply.cut(played);
    this.record.played_s = played;
    if (this.sessionId === null) {
      // The agent may not know of this turn, and would take what we say to be about the one before.
      this.#channel?.close();
      return;
    }
    const { told } = this.#channel.interrupt(played);
    if (!told) this.interruptedAt = played;
    // A turn that is still being sent answers by ending.
    setTimeout(() => this.#channel.close(), 500);
  }

  #fail(error) {
    this.#failed = true;
    const known = error instanceof TurnError;
    if (!known) console.error(error);
    this.#tell("notice", known ? error.message : "The page failed; see the browser's console.");
  }

  #tell(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}
