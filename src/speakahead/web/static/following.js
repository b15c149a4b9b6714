// Keeps the word that is being spoken in sight, unless the reader has scrolled away from it. Who
// scrolls back to it is taken along again.

export class Following {
  #following = true;
  #word = null; // the last one, and where the page was then
  #scrolled = 0;
  #width = 0;

  /** The voice has come to this word. */
  to(word) {
    // At another width the page is laid out anew, which moves it too.
    const byReader =
      this.#word !== null && scrolled(word) !== this.#scrolled && innerWidth === this.#width;
    if (byReader || !this.#following) this.#following = inSight(this.#word);
    if (this.#following && !byReader) word.scrollIntoView({ block: "nearest" });
    this.#word = word;
    this.#scrolled = scrolled(word);
    this.#width = innerWidth;
  }
}

/** By how much the page, or what scrolls in it, is scrolled: it depends on the screen which. */
function scrolled(word) {
  let sum = 0;
  for (let each = word; each; each = each.parentElement) sum += each.scrollTop;
  return sum;
}

/** Whether a line of the word is on the screen, and not behind the form. */
function inSight(word) {
  return Array.from(word.getClientRects()).some(({ left, top, width, height }) =>
    word.contains(document.elementFromPoint(left + width / 2, top + height / 2)),
  );
}
