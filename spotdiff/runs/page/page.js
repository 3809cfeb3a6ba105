// The question browser of a report. Everything in `data` comes from logs and is put into the page as text, never as
// mark-up. Columns are described in spotdiff/runs/page/browser.py.
"use strict";

const ROW = 50; // Height of an entry of the list in pixels, as in the style sheet.
const FOLDED = 700; // Characters of a reply that are shown before it is folded.
const byId = (id) => document.getElementById(id);

async function unpack(id) {
  const binary = atob(byId(id).textContent.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** An element with attributes and children; texts become text nodes. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

class Questions {
  constructor(data) {
    Object.assign(this, data);
    this.count = this.items.id.length;
    this.answerOf = this.runs.map(() => new Int32Array(this.count).fill(-1));
    this.answers.item.forEach((item, answer) => (this.answerOf[this.answers.run[answer]][item] = answer));
    this.differ = Uint8Array.from({ length: this.count }, (_, item) => {
      const letters = new Set(this.answersTo(item).map((answer) => this.answers.letters[answer]));
      return letters.size > 1 ? 1 : 0;
    });
    this.needle = "";
    this.hits = null;
  }

  answersTo(item) {
    return this.answerOf.map((numbers) => numbers[item]).filter((answer) => answer >= 0);
  }

  resultOf(answer) {
    const score = this.answers.score[answer];
    return score === 1 ? "right" : score > 0 ? "partly" : "wrong";
  }

  /** Which texts contain the searched one; each text is looked at once, however many questions share it. */
  search(needle) {
    if (needle === this.needle) return;
    this.needle = needle;
    this.lower ??= this.texts.map((text) => text.toLowerCase());
    this.lowerIds ??= this.items.id.map((id) => id.toLowerCase());
    this.hits = needle ? Uint8Array.from(this.lower, (text) => (text.includes(needle) ? 1 : 0)) : null;
  }

  found(item) {
    if (!this.hits) return true;
    const { hits, answers } = this;
    return (
      this.lowerIds[item].includes(this.needle) ||
      this.items.texts[item].some((text) => text !== null && hits[text]) ||
      this.answerOf.some((numbers) => {
        const answer = numbers[item];
        return answer >= 0 && (hits[answers.prompt[answer]] || hits[answers.reply[answer] ?? 0]);
      })
    );
  }

  /** Numbers of the questions that fit. An outcome and a result count for one and the same answer. */
  filtered({ family, run, group, outcome, result, agreement, text }) {
    this.search(text.toLowerCase());
    const asked = run === "" ? this.answerOf : [this.answerOf[Number(run)]];
    const fits = (answer) =>
      answer >= 0 &&
      (outcome === "" || this.answers.outcome[answer] === Number(outcome)) &&
      (result === "" || this.resultOf(answer) === result);
    const found = [];
    for (let item = 0; item < this.count; item++) {
      if (family !== "" && this.items.family[item] !== Number(family)) continue;
      if (group !== "" && !this.items.groups[item].includes(Number(group))) continue;
      if (agreement !== "" && this.differ[item] !== (agreement === "differ" ? 1 : 0)) continue;
      if (asked.some((numbers) => fits(numbers[item])) && this.found(item)) found.push(item);
    }
    return found;
  }
}

class Browser {
  constructor(questions, pictures) {
    this.questions = questions;
    this.pictures = pictures;
    this.shown = [];
    this.place = 0;
    this.form = byId("filters");
    this.list = byId("list");
    this.rows = byId("rows");
    this.detail = byId("detail");
    this.fillFilters();
    this.form.addEventListener("input", (event) => this.filter(event.target.name === "family"));
    this.form.addEventListener("submit", (event) => event.preventDefault());
    byId("clear").addEventListener("click", () => this.clear());
    this.list.addEventListener("scroll", () => this.drawRows());
    this.list.addEventListener("click", (event) => {
      const row = event.target.closest("[data-place]");
      if (row) this.choose(Number(row.dataset.place));
    });
    new ResizeObserver(() => this.drawRows()).observe(this.list);
    document.addEventListener("keydown", (event) => this.key(event));
    this.filter(true);
  }

  fillFilters() {
    const { families, runs, outcomes } = this.questions;
    const fill = (name, entries) =>
      this.form[name].append(...entries.map(([value, text]) => element("option", { value }, text)));
    fill("family", families.map((family, number) => [number, `${family.title}: ${family.name}`]));
    fill("run", runs.map((run, number) => [number, run.name]));
    fill("outcome", outcomes.map((outcome, number) => [number, outcome]));
    this.form.agreement.disabled = runs.length < 2;
  }

  /** The groups that questions of the chosen tasks have, by what they group by. */
  fillGroups() {
    const { items, groups, count } = this.questions;
    const family = this.form.family.value;
    const present = new Set();
    for (let item = 0; item < count; item++) {
      if (family !== "" && items.family[item] !== Number(family)) continue;
      items.groups[item].forEach((group) => present.add(group));
    }
    const sections = new Map();
    for (const number of [...present].sort((a, b) => a - b)) {
      const [key, value] = groups[number];
      if (!sections.has(key)) sections.set(key, element("optgroup", { label: key }));
      sections.get(key).append(element("option", { value: number }, `${key}: ${value}`));
    }
    this.form.group.replaceChildren(element("option", { value: "" }, "all"), ...sections.values());
  }

  filter(otherFamily = false) {
    if (otherFamily) this.fillGroups();
    const before = this.shown[this.place];
    const names = ["family", "run", "group", "outcome", "result", "agreement", "text"];
    this.shown = this.questions.filtered(Object.fromEntries(names.map((name) => [name, this.form[name].value])));
    const [some, all] = [this.shown.length, this.questions.count].map((number) => number.toLocaleString("en"));
    byId("count").textContent = `${some} of ${all} questions`;
    this.rows.style.height = `${this.shown.length * ROW}px`;
    this.choose(Math.max(0, this.shown.indexOf(before)));
  }

  clear() {
    this.form.reset();
    this.filter(true);
  }

  choose(place) {
    this.place = Math.max(0, Math.min(place, this.shown.length - 1));
    const top = this.place * ROW;
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    const bottom = top + ROW - this.list.clientHeight;
    if (bottom > this.list.scrollTop) this.list.scrollTop = bottom;
    this.drawRows();
    this.drawDetail();
  }

  /** Only the entries that are in sight exist. */
  drawRows() {
    const first = Math.max(0, Math.floor(this.list.scrollTop / ROW) - 4);
    const last = Math.min(this.shown.length, Math.ceil((this.list.scrollTop + this.list.clientHeight) / ROW) + 4);
    const places = Array.from({ length: Math.max(0, last - first) }, (_, number) => first + number);
    this.rows.replaceChildren(...places.map((place) => this.row(place)));
    const active = this.shown.length > 0 && this.place >= first && this.place < last;
    if (active) this.list.setAttribute("aria-activedescendant", `row-${this.place}`);
    else this.list.removeAttribute("aria-activedescendant");
  }

  row(place) {
    const { items, runs, families, answerOf } = this.questions;
    const item = this.shown[place];
    const id = items.id[item];
    const family = families.length > 1 ? families[items.family[item]].name : "";
    const marks = runs.map((run, number) => this.mark(answerOf[number][item], run.name));
    const row = element(
      "div",
      {
        ...{ class: "row", role: "option", id: `row-${place}`, "data-place": place },
        ...{ "aria-setsize": this.shown.length, "aria-posinset": place + 1 },
        "aria-selected": String(place === this.place),
      },
      element("div", { class: "name" }, element("span", {}, id), element("span", { class: "family" }, family)),
      element("div", { class: "marks" }, element("span", { class: "mark gold" }, items.gold[item]), ...marks),
    );
    row.style.transform = `translateY(${place * ROW}px)`;
    return row;
  }

  /** What a run answered, small: a sign and the letters, so that colour is not all that tells. */
  mark(answer, name) {
    if (answer < 0) return element("span", { class: "mark absent", title: `${name}: not asked` }, "·");
    const { answers, outcomes } = this.questions;
    const outcome = outcomes[answers.outcome[answer]];
    const result = outcome === "parsed" ? this.questions.resultOf(answer) : "unread";
    const sign = { right: "✓", partly: "½", wrong: "✗", unread: "–" }[result];
    const title = `${name}: ${outcome === "parsed" ? result : outcome}`;
    return element("span", { class: `mark ${result}`, title }, `${sign}${answers.letters[answer]}`);
  }

  drawDetail() {
    if (!this.shown.length) {
      this.detail.replaceChildren(element("p", { class: "empty" }, "No question fits these filters."));
      return;
    }
    const { items, families, groups, texts, answers } = this.questions;
    const item = this.shown[this.place];
    const given = this.questions.answersTo(item);
    const prompts = new Set(given.map((answer) => answers.prompt[answer]));
    const tags = items.groups[item].map((group) => element("li", {}, `${groups[group][0]}: ${groups[group][1]}`));
    this.detail.replaceChildren(
      element("h3", {}, items.id[item]),
      element("ul", { class: "tags" }, element("li", {}, families[items.family[item]].name), ...tags),
      ...this.figures(items.pictures[item]),
      ...(prompts.size === 1 ? [this.prompt(texts[[...prompts][0]])] : []),
      ...(items.texts[item].length ? [] : [this.note("The texts of the options stand in the prompt.")]),
      this.options(item, given),
      ...given.map((answer) => this.card(answer, prompts.size > 1)),
    );
    this.detail.scrollTop = 0;
  }

  /** Pictures one after the other, those under one caption together. */
  figures(entries) {
    if (!this.pictures || !entries.length) return [];
    const found = [];
    let last = null;
    for (const [number, words] of entries) {
      if (words !== last) found.push(element("figure", {}, element("figcaption", {}, this.questions.texts[words])));
      const src = `data:image/jpeg;base64,${this.pictures[number]}`;
      found.at(-1).append(element("img", { src, alt: this.questions.texts[words] || "picture of the question" }));
      found.at(-1).classList.toggle("several", words === last);
      last = words;
    }
    return [element("div", { class: "figures" }, ...found)];
  }

  prompt(text) {
    if (!text) return this.note("The prompt is neither in the logs nor in data of the machine that wrote this report.");
    const body = element("pre", {}, text);
    return element("details", { class: "prompt", open: "" }, element("summary", {}, "Prompt"), body);
  }

  note(text) {
    return element("p", { class: "note" }, text);
  }

  options(item, given) {
    const { items, texts, answers, runs } = this.questions;
    const known = items.texts[item];
    const entries = Array.from({ length: items.options[item] }, (_, number) => {
      const letter = String.fromCharCode(65 + number);
      const text = known.length === 0 ? "" : known[number] === null ? "image" : texts[known[number]];
      const chosen = given.filter((answer) => answers.letters[answer].includes(letter));
      const right = items.gold[item].includes(letter);
      return element(
        "li",
        { class: right ? "right" : "" },
        element("b", {}, letter),
        element("span", { class: known[number] === null ? "absent" : "" }, text),
        right ? element("span", { class: "badge" }, "✓ right") : null,
        ...chosen.map((answer) => this.named(answers.run[answer], "span", "chosen")),
      );
    });
    return element("ol", { class: "options" }, ...entries);
  }

  /** A run by its name and the colour that it has in the plots. */
  named(run, tag, name) {
    return element(tag, { class: name }, this.dot(run), this.questions.runs[run].name);
  }

  dot(run) {
    const dot = element("i", { class: "dot", "aria-hidden": "true" });
    dot.style.background = this.questions.runs[run].colour;
    return dot;
  }

  card(answer, withPrompt) {
    const { answers, runs, outcomes, rules, files, texts } = this.questions;
    const said = [`outcome ${outcomes[answers.outcome[answer]]}`, `rule ${rules[answers.rule[answer]] || "none"}`];
    said.push(`score ${answers.score[answer]}`);
    if (answers.failure[answer]) said.push(`failure ${answers.failure[answer]}`);
    if (answers.conflict[answer]) said.push("conflicting answers in the reply");
    const line = answers.line[answer] ? `, line ${answers.line[answer]}` : "";
    return element(
      "section",
      { class: "card", "aria-label": runs[answers.run[answer]].name },
      element("h4", {}, this.dot(answers.run[answer]), runs[answers.run[answer]].name, this.mark(answer, "")),
      element("p", { class: "facts" }, said.join(" · ")),
      withPrompt ? this.prompt(texts[answers.prompt[answer]]) : null,
      this.reply(answers.reply[answer] === null ? null : texts[answers.reply[answer]]),
      element("p", { class: "place" }, `${files[answers.file[answer]]}${line}`),
    );
  }

  /** Long replies are folded: their beginning, and their end, where the answer stands. */
  reply(text) {
    if (text === null) return this.note("The log holds no reply.");
    if (text === "") return this.note("The reply is empty.");
    const body = element("pre", { class: "reply" }, text);
    if (text.length <= FOLDED) return body;
    const short = `${text.slice(0, FOLDED / 2)}\n[…]\n${text.slice(-FOLDED / 2)}`;
    body.textContent = short;
    const label = `Show all ${text.length.toLocaleString("en")} characters`;
    const button = element("button", { type: "button", "aria-expanded": "false" }, label);
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") === "true";
      body.textContent = open ? short : text;
      button.setAttribute("aria-expanded", String(!open));
      button.textContent = open ? label : "Fold";
    });
    return element("div", {}, body, button);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) {
      if (event.key === "Escape") this.list.focus();
      return;
    }
    const page = Math.max(1, Math.floor(this.list.clientHeight / ROW) - 1);
    const steps = { j: 1, k: -1 };
    const ends = { Home: -this.shown.length, End: this.shown.length };
    const inList = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, ...ends };
    const step = steps[event.key] ?? (event.target === this.list ? inList[event.key] : undefined);
    const actions = {
      "/": () => this.form.text.focus(),
      f: () => this.form.family.focus(),
      x: () => this.clear(),
      d: () => this.toggle("agreement", "differ"),
      w: () => this.toggle("result", "wrong"),
    };
    if (step !== undefined) {
      byId("browser").scrollIntoView({ block: "nearest" });
      this.list.focus({ preventScroll: true });
      this.choose(this.place + step);
    } else if (actions[event.key]) actions[event.key]();
    else return;
    event.preventDefault();
  }

  toggle(name, value) {
    if (this.form[name].disabled) return;
    this.form[name].value = this.form[name].value === value ? "" : value;
    this.filter();
  }
}

addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => (part.open = true)));

async function start() {
  const waiting = byId("waiting");
  try {
    const pictures = byId("pictures") ? JSON.parse(byId("pictures").textContent) : null;
    new Browser(new Questions(await unpack("data")), pictures);
    waiting.remove();
    byId("browser").hidden = false;
    document.documentElement.dataset.ready = "true";
  } catch (error) {
    waiting.textContent = `The questions cannot be shown: ${error}. A browser of 2023 or newer is needed.`;
    throw error;
  }
}

start();
