// Asking by voice, where the browser has speech recognition.

const Recognition = globalThis.SpeechRecognition ?? globalThis.webkitSpeechRecognition;

const MESSAGES = {
  "not-allowed": "The browser does not allow the microphone here.",
  "audio-capture": "There is no microphone.",
  "no-speech": "Nothing was heard.",
  network: "The browser's speech recognition cannot be reached.",
};

export const dictationOffered = Boolean(Recognition);

/** Events: "text" (detail: {text, final}), "state" (detail: whether it listens), "problem". */
export class Dictation extends EventTarget {
  #recognition = null;

  get listening() {
    return this.#recognition !== null;
  }

  start() {
    const recognition = (this.#recognition = new Recognition());
    recognition.lang = document.documentElement.lang;
    recognition.interimResults = true;
    recognition.onresult = ({ results }) => {
      const text = Array.from(results, ([best]) => best.transcript).join("");
      this.#tell("text", { text, final: results[results.length - 1].isFinal });
    };
    recognition.onerror = ({ error }) => {
      if (error !== "aborted") {
        this.#tell("problem", MESSAGES[error] ?? "The browser did not understand.");
      }
    };
    recognition.onend = () => {
      this.#recognition = null;
      this.#tell("state", false);
    };
    recognition.start();
    this.#tell("state", true);
  }

  stop() {
    this.#recognition?.stop();
  }

  #tell(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}
