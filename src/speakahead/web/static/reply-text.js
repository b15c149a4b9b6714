// A reply on the page: words turn from written to heard.

import { Following } from "./following.js";

const REFRESH_MS = 120; // a new layout for each token costs more than the voice on small machines

export class ReplyText {
  #element;
  #characters = []; // code points, which is what the agent counts
  #placed = 0; // characters that have been put into words
  #tail = document.createTextNode("");
  #words = []; // {element, start_s, end_s}
  #next = 0; // the first word that is not heard yet
  #now = null;
  #following = new Following();
  #refreshing = null; // a timer
  #refreshed = -Infinity;

  constructor(element) {
    this.#element = element;
    element.replaceChildren(this.#tail);
  }

  append(text) {
    this.#characters.push(...Array.from(text));
    const wait = this.#refreshed + REFRESH_MS - performance.now();
    if (wait <= 0) this.#refresh();
    else this.#refreshing ??= setTimeout(() => this.#refresh(), wait);
  }

  /** Show what is written but not in words yet. */
  #refresh() {
    clearTimeout(this.#refreshing);
    this.#refreshing = null;
    this.#refreshed = performance.now();
    this.#tail.data = this.#slice(this.#placed);
  }

  /** The times of a sentence's words; without any, the sentence counts as one. */
  caption(captions) {
    const { words, start, end, start_s } = captions;
    for (const word of words.length ? words : [{ start, end, start_s, end_s: Infinity }]) {
      if (word.end <= this.#placed) continue; // a second word for the same characters
      this.#place(word);
    }
    this.#refresh();
  }

  #place(word) {
    const start = Math.max(word.start, this.#placed);
    const between = this.#slice(this.#placed, start);
    // Marks belong to the word that they touch: a bracket to the next one, a dot to the last.
    const [, after, space, before] = /^(\S*)(\s*)([^]*)$/.exec(between);
    const last = this.#words.at(-1);
    if (after && last && space) last.element.append(after);
    const lead = last && space ? before : between;
    if (last ? space : "") this.#tail.before(space);
    const element = document.createElement("span");
    element.className = "word";
    element.textContent = lead + this.#slice(start, word.end);
    this.#tail.before(element);
    this.#words.push({ element, start_s: word.start_s, end_s: word.end_s });
    this.#placed = word.end;
  }

  #slice(start, end) {
    return this.#characters.slice(start, end).join("");
  }

  /** Show what has been heard by this position (s); call it often. */
  hear(position) {
    for (; this.#next < this.#words.length; this.#next++) {
      const word = this.#words[this.#next];
      if (word.start_s > position) break;
      word.element.classList.add("heard");
    }
    const last = this.#words[this.#next - 1];
    const now = last && position < last.end_s ? last.element : null;
    if (now !== this.#now) {
      this.#now?.classList.remove("now");
      now?.classList.add("now");
      this.#now = now;
      // Follow the voice, not the model, once the reply is longer than the screen.
      if (now) this.#following.to(now);
    }
  }

  /** All has been heard. */
  finish() {
    this.#refresh();
    this.hear(Infinity);
    if (this.#tail.data.trim() && this.#words.length) this.#words.at(-1).element.append(this.#tail);
  }

  /** The listener interrupted: words of which less than half was heard were not. */
  cut(position) {
    this.#refresh();
    this.#now?.classList.remove("now");
    this.#now = null;
    for (const { element, start_s, end_s } of this.#words) {
      const heard = (start_s + end_s) / 2 < position;
      element.classList.toggle("heard", heard);
      element.classList.toggle("unheard", !heard);
    }
    this.#tail.data = this.#tail.data.trimEnd(); // no space is struck through
    const rest = document.createElement("span");
    rest.className = "unheard";
    this.#tail.replaceWith(rest);
    rest.append(this.#tail);
  }

  get text() {
    return this.#characters.join("");
  }
}
