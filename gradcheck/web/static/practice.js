// What the pages do beyond forms: an echo while one types, and results without a new page.
"use strict";

const PAUSE = 220; // milliseconds of rest before the echo; a reader of screens hears it later
const HEARD = 1100;

const spoken = document.getElementById("said");
const timers = new Map();
const asked = new Map(); // the newest question of each field: older replies are dropped

function later(key, wait, act) {
  clearTimeout(timers.get(key));
  timers.set(key, setTimeout(act, wait));
}

function question(field) {
  const problem = field.closest("[data-problem]");
  if (problem) return { problem: problem.dataset.problem, part: field.dataset.part, answer: field.value };
  const form = field.form;
  const given = form.at.value.split(";").filter((each) => each.trim());
  const answer = field.dataset.role === "answer" ? field.value : "";
  return { expression: form.f.value, wrt: form.wrt.value.trim(), given, answer };
}

async function understand(field) {
  if (!field.isConnected) return; // a judgement has replaced it meanwhile
  const echo = document.getElementById(field.dataset.echo);
  const place = echo.querySelector(".echo-said");
  const label = echo.querySelector(".echo-label");
  if (!field.value.trim() || (field.dataset.role === "answer" && !field.form.f.value.trim())) {
    asked.set(field, null);
    place.replaceChildren(soft("what you type appears here"));
    label.hidden = false;
    return;
  }
  const body = JSON.stringify(question(field));
  asked.set(field, body);
  let said;
  try {
    const headers = { "Content-Type": "application/json" };
    const reply = await fetch("/api/understand", { method: "POST", headers, body });
    said = await reply.json();
  } catch {
    return;
  }
  if (asked.get(field) !== body) return;
  label.hidden = Boolean(said.complaint);
  show(place, said, field.value);
  later(spoken, HEARD, () => {
    spoken.textContent = said.complaint ? `not understood: ${said.complaint}` : said.understood ? `understood as ${said.understood}` : "";
  });
}

function soft(text) {
  const element = document.createElement("span");
  element.className = "soft";
  element.textContent = text;
  return element;
}

function show(place, said, typed) {
  if (said.complaint) {
    const lines = document.createElement("pre");
    const line = (typed.split("\n")[(said.line || 1) - 1] || "").replace(/\s/g, " ");
    const caret = " ".repeat(Math.max(0, said.column - 1)) + "^".repeat(said.width || 1);
    lines.textContent = `${line}\n${caret}\n${said.complaint}`;
    place.replaceChildren(lines);
  } else if (said.mathml) {
    place.innerHTML = said.mathml; // written by the server, escaped; the policy allows no script
  } else {
    place.replaceChildren(soft(said.understood || said.error || "read"));
  }
}

async function submitted(event) {
  const form = event.target;
  const result = form.querySelector("[data-result]") || document.querySelector("[data-result]");
  if (!result || form.matches(".who")) return;
  event.preventDefault();
  const button = event.submitter;
  const data = new FormData(form, button);
  const get = form.method === "get";
  const address = get ? `${form.action}?${new URLSearchParams(data)}` : form.action;
  const buttons = form.querySelectorAll("button");
  buttons.forEach((each) => (each.disabled = true));
  try {
    const reply = await fetch(address, get ? {} : { method: "POST", body: new URLSearchParams(data) });
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    if (!reply.ok) throw new Error(page.querySelector("main p")?.textContent);
    if (get) history.replaceState(null, "", address);
    replace(form, page);
  } catch (error) {
    const words = document.createElement("p");
    words.className = "notice";
    words.textContent = error.message || "The server does not answer. What you typed is still here.";
    result.replaceChildren(words);
    spoken.textContent = words.textContent;
  } finally {
    buttons.forEach((each) => (each.disabled = false));
  }
}

// Take over from the new page what a judgement changes: this part, the program, the pictures.
function replace(form, page) {
  const part = form.closest(".part");
  const ids = part ? [part.id, "program", "tools"] : ["free-result"];
  for (const id of ids) {
    const fresh = page.getElementById(id);
    const old = document.getElementById(id);
    if (!fresh || !old) continue;
    const open = [...old.querySelectorAll("details")].map((each) => each.open);
    old.replaceWith(document.adoptNode(fresh));
    if (id === "tools") fresh.querySelectorAll("details").forEach((each, k) => (each.open = open[k] ?? false));
    ready(fresh);
  }
  const target = document.querySelector(`#${ids[0]} .verdict, #${ids[0]} .notice`);
  if (target) {
    target.tabIndex = -1;
    target.focus();
  }
}

function keys(event) {
  const field = event.target;
  if (field.matches("textarea") && event.key === "Enter" && !event.isComposing) {
    const now = field.matches(".maths") ? !event.shiftKey : event.ctrlKey || event.metaKey;
    if (now) {
      event.preventDefault();
      field.form.requestSubmit(field.form.querySelector("button.main"));
    }
  }
  const cell = field.closest(".grid td");
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (cell && step) {
    const row = cell.parentElement.parentElement.rows[cell.parentElement.rowIndex + step];
    row?.cells[cell.cellIndex].querySelector("input").focus();
    event.preventDefault();
  }
}

// What was typed outlives a refresh and Back, in this tab and for this name alone; who says a name takes along what
// was typed before.
const who = document.querySelector(".who b")?.textContent || "";
const kept = (field) => `typed ${who} ${location.pathname} ${field.dataset.part}`;
for (const key of Object.keys(sessionStorage).filter((each) => who && each.startsWith("typed  "))) {
  sessionStorage[key.replace("typed  ", `typed ${who} `)] ??= sessionStorage[key];
  sessionStorage.removeItem(key);
}

function restore(root) {
  root.querySelectorAll("textarea[data-part]").forEach((field) => {
    const typed = sessionStorage.getItem(kept(field));
    if (typed !== null && !field.value) field.value = typed;
    if (field.value && !field.form.querySelector(".verdict")) understand(field);
  });
}

// On a screen that is touched: what its keyboard hides.
const SIGNS = ["^", "√", "π", "(", ")", "/", "*"];

function addSigns(field) {
  if (!matchMedia("(pointer: coarse)").matches || field.nextElementSibling?.matches(".signs")) return;
  const row = document.createElement("div");
  row.className = "signs";
  for (const sign of SIGNS) {
    const key = document.createElement("button");
    key.type = "button";
    key.textContent = sign;
    key.addEventListener("click", () => {
      field.setRangeText(sign, field.selectionStart, field.selectionEnd, "end");
      field.focus();
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    row.append(key);
  }
  field.after(row);
}

function search(field) {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  document.querySelectorAll(".set").forEach((set) => {
    const title = set.querySelector("h2").textContent.toLowerCase();
    let shown = 0;
    set.querySelectorAll("li").forEach((item) => {
      const text = `${title} ${item.textContent.toLowerCase()}`;
      item.hidden = !words.every((word) => text.includes(word));
      shown += !item.hidden;
    });
    set.hidden = !shown;
  });
}

function ready(root) {
  root.querySelectorAll(".keys, .search").forEach((each) => (each.hidden = false));
  root.querySelectorAll("textarea.maths").forEach(addSigns);
  restore(root);
}

document.addEventListener("input", (event) => {
  const field = event.target;
  if (field.id === "search") search(field);
  if (field.matches("textarea[data-part]")) sessionStorage.setItem(kept(field), field.value);
  if (field.dataset.echo) later(field, PAUSE, () => understand(field));
  if (field.dataset.role === "function") {
    const answer = document.getElementById("answer");
    later(answer, PAUSE * 2, () => understand(answer));
  }
});
document.addEventListener("submit", submitted);
document.addEventListener("keydown", keys);
ready(document);
