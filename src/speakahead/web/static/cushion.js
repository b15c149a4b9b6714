// How long the first sound is held back after it has come. Not at all, where the speech keeps ahead
// of the listener from its first piece on; for a moment, where it was late in the turn before: on a
// machine on which it is just about as quick as it is heard, and this page takes its share.
//
// It is time rather than sound that is waited for: speech comes in pieces of half a second and more,
// so there is enough of it from the first piece on, and it is the next piece that may be late.

export const LEAST_S = 0.06; // of sound; less would not bridge the jitter of small pieces

const MOST_S = 0.8;
const MARGIN_S = 0.04;
const FORGET = 0.7; // how much of it is kept after a turn that would have needed less

export class Cushion {
  seconds = 0; // before the next start
  #first = null; // when the first piece came, in s
  #sound = 0; // that has come, in s
  #need = 0;
  #open = false;

  /** A turn begins. */
  begin() {
    this.#first = null;
    this.#sound = this.#need = 0;
    this.#open = true;
  }

  /** More sound has come: `sound` seconds in all, at `now` (ms). */
  received(sound, now) {
    if (!this.#open || sound <= this.#sound) return;
    this.#first ??= now / 1000;
    // How late this piece would have been for one who had played the first piece at once.
    this.#need = Math.max(this.#need, now / 1000 - this.#first - this.#sound);
    this.#sound = sound;
    this.seconds = Math.max(this.seconds, bounded(this.#need));
  }

  /** What comes now says nothing about a start: a second sentence, or the end of the turn. */
  close() {
    if (!this.#open) return;
    this.#open = false;
    if (this.#first !== null) {
      const needed = this.#need > 0 ? this.#need + MARGIN_S : 0;
      this.seconds = bounded(Math.max(needed, FORGET * this.seconds));
    }
  }
}

function bounded(seconds) {
  return seconds < MARGIN_S ? 0 : Math.min(MOST_S, seconds);
}
