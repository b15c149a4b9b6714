// How much sound has to be there before it is played. Little, where the speech keeps ahead of the
// listener from its first piece on; more, where it was late in the turn before: on a machine on
// which it is just about as quick as it is heard, and this page takes its share.

const LEAST_S = 0.06;
const MOST_S = 0.8;
const MARGIN_S = 0.04;
const FORGET = 0.7; // how much of it is kept after a turn that would have needed less

export class Cushion {
  seconds = LEAST_S; // before the next start
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
      this.seconds = bounded(Math.max(this.#need + MARGIN_S, FORGET * this.seconds));
    }
  }
}

function bounded(seconds) {
  return Math.min(MOST_S, Math.max(LEAST_S, seconds));
}
