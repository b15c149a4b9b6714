// Server-sent events, read from pieces of bytes that may be cut anywhere.

/** Turns bytes into the `data` of complete events: strings, lines joined by "\n". */
export class SseReader {
  #decoder = new TextDecoder("utf-8");
  #buffer = "";
  #data = [];
  #afterReturn = false; // a line feed that follows belongs to the line end before

  /** @param {Uint8Array} bytes @returns {string[]} */
  feed(bytes) {
    const events = [];
    this.#buffer += this.#decoder.decode(bytes, { stream: true });
    for (;;) {
      if (this.#afterReturn && this.#buffer) {
        if (this.#buffer[0] === "\n") this.#buffer = this.#buffer.slice(1);
        this.#afterReturn = false;
      }
      const end = this.#buffer.search(/[\r\n]/);
      if (end < 0) return events;
      const line = this.#buffer.slice(0, end);
      this.#afterReturn = this.#buffer[end] === "\r";
      this.#buffer = this.#buffer.slice(end + 1);
      if (line === "") {
        if (this.#data.length) events.push(this.#data.join("\n"));
        this.#data = [];
      } else if (line === "data" || line.startsWith("data:")) {
        this.#data.push(line.slice(5).replace(/^ /, ""));
      } // comments and other fields say nothing here
    }
  }
}
