// The time line: a lane for each run, all on one scale, drawn as SVG.

const SVG = "http://www.w3.org/2000/svg";
const LANE = 74;
const AXIS = 22;
const MARGIN = 2;
const LEAST_MS = 6000;
const REDRAW_MS = 250;
const STEPS_S = [0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600];

export const NAMES = { bidi: "Speaks ahead", batch: "Waits for the text" };

export const seconds = (ms, digits = 2) => `${(ms / 1000).toFixed(digits)} s`;

export class Timeline {
  #element;
  #records = [];
  #timer = null;

  constructor(element) {
    this.#element = element;
    new ResizeObserver(() => this.draw()).observe(element);
  }

  /** Draw these, and go on while they change. */
  show(records) {
    this.#records = records;
    clearInterval(this.#timer);
    this.#timer = setInterval(() => this.draw(), REDRAW_MS);
    this.draw();
  }

  stop() {
    clearInterval(this.#timer);
    this.draw();
  }

  draw() {
    const width = Math.floor(this.#element.clientWidth);
    if (!width || !this.#records.length) return;
    const height = this.#records.length * LANE + AXIS;
    const longest = Math.max(LEAST_MS, ...this.#records.map(lengthOf));
    const x = (ms) => MARGIN + (ms / longest) * (width - 2 * MARGIN);
    const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
    svg.setAttribute("aria-label", this.#records.map(describe).join(" "));
    this.#axis(svg, x, longest, width, height);
    this.#records.forEach((record, index) => this.#lane(svg, record, index * LANE, x, width));
    this.#element.replaceChildren(svg);
  }

  #axis(svg, x, longest, width, height) {
    const step = STEPS_S.find((s) => (s * 1000 * (width - 2)) / longest >= 56) ?? 1200;
    for (let s = 0; s * 1000 <= longest; s += step) {
      const at = x(s * 1000);
      svg.append(node("line", { x1: at, x2: at, y1: 0, y2: height - AXIS + 4, class: "grid" }));
      const anchor = at < 8 ? "start" : at > width - 12 ? "end" : "middle";
      svg.append(label(s === 0 ? "0 s" : String(s), at, height - 5, anchor, "axis"));
    }
  }

  #lane(svg, record, top, x, width) {
    const lane = node("g", { class: `lane ${record.settings.mode}` });
    const { marks } = record;
    const middle = top + 47;
    const name = label(NAMES[record.settings.mode], width - 4, top + 14, "end", "name");
    lane.append(name);
    if (marks.first_text !== undefined) {
      const start = x(marks.first_text);
      const end = Math.max(start + 2, x(marks.text_complete));
      lane.append(node("rect", { x: start, y: top + 22, width: end - start, height: 3, rx: 1.5,
        class: "writing" }));
    }
    lane.append(node("path", { d: wave(record.levels, x, middle), class: "wave" }));
    for (const gap of record.gaps) {
      lane.append(node("rect", { x: x(gap.at), y: middle - 1, height: 2,
        width: Math.max(2, x(gap.at + gap.length) - x(gap.at)), class: gap.kind }));
    }
    if (marks.first_audible !== undefined) {
      const at = x(marks.first_audible);
      lane.append(node("line", { x1: at, x2: at, y1: top + 6, y2: top + 68, class: "heard-at" }));
      const right = at < width - 250 || at < 120;
      if (right && at >= width - 250) name.remove(); // no room for both
      lane.append(label(`heard after ${seconds(marks.first_audible)}`, at + (right ? 6 : -6),
        top + 14, right ? "start" : "end", "heard-label"));
    }
    if (marks.interrupted !== undefined) {
      const at = x(marks.interrupted);
      lane.append(node("line", { x1: at, x2: at, y1: top + 20, y2: top + 68, class: "cut" }));
    }
    if (!record.ended) {
      const at = x(record.at());
      lane.append(node("line", { x1: at, x2: at, y1: top + 20, y2: top + 68, class: "now" }));
    }
    svg.append(lane);
  }
}

function lengthOf(record) {
  const end = record.ended ? record.marks.end : record.at() * 1.08;
  return Math.max(end, record.levels.at(-1)?.[0] ?? 0);
}

/** Bars rather than a filled curve: words stay apart, pauses are nothing. */
function wave(levels, x, middle) {
  const bars = [];
  const least = 3; // pixels between two bars
  let from = -Infinity;
  let peak = 0;
  for (const [ms, level] of levels) {
    peak = Math.max(peak, level);
    const at = x(ms);
    if (at - from < least) continue;
    if (peak > 0.004) {
      const half = Math.max(0.8, 20 * Math.sqrt(Math.min(1, peak * 1.3)));
      bars.push(`M${at.toFixed(1)} ${(middle - half).toFixed(1)}v${(2 * half).toFixed(1)}`);
    }
    from = at;
    peak = 0;
  }
  return bars.join("");
}

function describe(record) {
  const { first_audible, end } = record.marks;
  const heard = first_audible === undefined ? "not heard yet" : `heard after ${seconds(first_audible)}`;
  return `${NAMES[record.settings.mode]}: ${heard}${end ? `, ended after ${seconds(end)}` : ""}.`;
}

function node(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

function label(text, x, y, anchor, kind) {
  const element = node("text", { x, y, "text-anchor": anchor, class: kind });
  element.textContent = text;
  return element;
}

const COLUMNS = ["first_text", "first_sentence", "first_audio_byte", "first_decoded",
  "first_audible", "text_complete", "end"];

/** One row of the table for each run. */
export function figures(records) {
  return records.map((record) => {
    const row = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = NAMES[record.settings.mode];
    row.append(head);
    const values = COLUMNS.map((name) => {
      const ms = record.marks[name];
      return ms === undefined ? "–" : (ms / 1000).toFixed(3);
    });
    values.push(record.count("waiting_for_text"), record.count("underrun"),
      record.bytes.toLocaleString("en"));
    values.forEach((value, index) => {
      const cell = document.createElement("td");
      cell.textContent = String(value);
      if (COLUMNS[index] === "first_audible") cell.className = "key";
      row.append(cell);
    });
    return row;
  });
}
