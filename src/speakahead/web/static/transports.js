// Two ways to the same turn. Both iterate over the agent's events; sound comes as
// {type: "audio", bytes: Uint8Array, wire: bytes that travelled}.

import { SseReader } from "./sse.js";

/** Something went wrong; the message is for the user. */
export class TurnError extends Error {}

const LOST = "The connection to the agent was lost. Ask again.";
const UNREACHABLE = "The agent cannot be reached. Is it still running?";

const address = (path) => new URL(path, document.baseURI);

/** A turn as the answer to one POST, with the sound in base64. */
export class SseTurn {
  #abort = new AbortController();

  constructor(request) {
    this.request = request;
  }

  async *[Symbol.asyncIterator]() {
    const response = await this.#post();
    const reader = response.body.getReader();
    const sse = new SseReader();
    for (let ended = false; !ended; ) {
      const { done, value } = await reader.read().catch(() => {
        throw new TurnError(LOST);
      });
      if (done) throw new TurnError(LOST);
      for (const data of sse.feed(value)) {
        const event = JSON.parse(data);
        if (event.type === "audio_chunk") {
          yield { type: "audio", bytes: fromBase64(event.audio), wire: data.length + 8 };
        } else {
          yield event;
          ended ||= event.type === "agent_end";
        }
      }
    }
  }

  async #post() {
    let response;
    try {
      response = await fetch(address("invocations"), {
        method: "POST",
        headers: { "content-type": "application/json", accept: "text/event-stream" },
        body: JSON.stringify(this.request),
        signal: this.#abort.signal,
      });
    } catch {
      throw new TurnError(UNREACHABLE);
    }
    if (!response.ok) {
      const error = await response.json().catch(() => ({}));
      throw new TurnError(error.message ?? `The agent answered with status ${response.status}.`);
    }
    return response;
  }

  /** Over HTTP there is no way to say more: leaving stops the turn. */
  interrupt() {
    this.close();
    return { told: false };
  }

  close() {
    this.#abort.abort();
  }
}

/** A turn over a WebSocket of its own, with the sound as binary frames. */
export class SocketTurn {
  static #spare = null; // an open one, so that a turn need not wait for the handshake
  #socket;
  #events = [];
  #wake = () => {};
  #failed = null;

  /** Open a socket ahead of the next turn. */
  static prepare() {
    const state = SocketTurn.#spare?.readyState;
    if (state === WebSocket.OPEN || state === WebSocket.CONNECTING) return;
    const url = address("ws");
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    SocketTurn.#spare = socket;
  }

  constructor(request) {
    SocketTurn.prepare();
    const socket = (this.#socket = SocketTurn.#spare);
    SocketTurn.#spare = null;
    let opened = socket.readyState === WebSocket.OPEN;
    const send = () => {
      opened = true;
      socket.send(JSON.stringify(request));
    };
    if (opened) send();
    else socket.onopen = send;
    socket.onmessage = ({ data }) => this.#put(data);
    socket.onclose = () => {
      this.#failed = new TurnError(opened ? LOST : UNREACHABLE);
      this.#wake();
    };
  }

  #put(data) {
    if (data instanceof ArrayBuffer) {
      this.#events.push({ type: "audio", bytes: new Uint8Array(data), wire: data.byteLength });
    } else {
      this.#events.push(JSON.parse(data));
    }
    this.#wake();
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      while (this.#events.length) {
        const event = this.#events.shift();
        yield event;
        if (event.type === "agent_end") return;
      }
      if (this.#failed) throw this.#failed;
      await new Promise((resolve) => (this.#wake = resolve));
    }
  }

  /** @param {number} playedS seconds of the turn's sound that were heard */
  interrupt(playedS) {
    if (this.#socket.readyState !== WebSocket.OPEN) return { told: false };
    this.#socket.send(JSON.stringify({ type: "interrupt", played_s: playedS }));
    return { told: true };
  }

  close() {
    this.#socket.onmessage = null;
    this.#socket.onclose = null;
    this.#socket.onopen = () => this.#socket.close();
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.close();
    this.#failed ??= new TurnError(LOST);
    this.#wake();
  }
}

export const TRANSPORTS = { sse: SseTurn, ws: SocketTurn };

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}
