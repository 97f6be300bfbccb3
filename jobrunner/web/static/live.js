// Refreshes the page every few seconds while somebody looks at it and has nothing in hand. Without it all works, too.
"use strict";

const LONGEST = 60 * 1000;
const STOPS_AFTER = 10 * 60 * 1000;
// A page that is slow is asked for less often, so that it costs no more.
const REST = 10;
const UNITS = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];
const main = document.querySelector("main");
const footer = document.querySelector("footer[data-live]");
// Of a month there is less news than of a day.
const EVERY = 1000 * (footer?.dataset.live || 5);

let tag = "";
// By their digests: the parts of the page as it was read last.
let parts = new Map();
let isPaused = false;
let isPressed = false;
let touchedAt = Date.now();
let shownAt = 0;

// The answer with the parts that have not changed, which the server only names.
function whole(text) {
  const found = new Map();
  const put = text.replace(/<!--(have|part) (\w+)-->([^]*?)(?=<!--(?:have|part) |$)/g, (_, kind, name, part) => {
    found.set(name, kind === "have" ? parts.get(name) : part);
    return found.get(name);
  });
  parts = found;
  return put;
}

// What somebody has opened or closed stays so. The words of a lid may change with its numbers.
function lids(root) {
  const named = (each) => each.querySelector("summary").textContent.replace(/\d+/g, "");
  return [...root.querySelectorAll("details")].map((each) => [named(each), each]);
}

function isChanged(field) {
  if (field.localName === "select") {
    const usual = [...field.options].findIndex((each) => each.defaultSelected);
    return field.selectedIndex !== Math.max(usual, 0);
  }
  return field.type !== "hidden" && (field.value !== field.defaultValue || field.checked !== field.defaultChecked);
}

// Something is selected, focused or filled in: a new page would take it away.
function isInUse() {
  return isPressed
    || !getSelection().isCollapsed
    || (main.contains(document.activeElement) && !document.activeElement.matches("summary"))
    || [...main.querySelectorAll("input, select, textarea")].some(isChanged);
}

function isIdle() {
  return Date.now() - touchedAt > STOPS_AFTER;
}

// Of a page that is not refreshed it is said why, and how old it is.
function show(text) {
  note.textContent = text;
  button.textContent = isPaused || isIdle() ? "refresh again" : "stop refreshing";
}

function replace(text) {
  const found = new DOMParser().parseFromString(text, "text/html");
  const places = (root) => [...root.querySelectorAll("pre:not(.live), .wide")];
  const output = main.querySelector("pre.live");
  const read = output?.scrollTop;
  const follows = !output || output.scrollTop + output.clientHeight >= output.scrollHeight - 4;
  const before = places(main).map(({ scrollTop, scrollLeft, scrollHeight, clientHeight }) =>
    // Who reads the end goes on reading the end.
    ({ scrollLeft, scrollTop: scrollTop && scrollTop + clientHeight >= scrollHeight - 4 ? 1e9 : scrollTop }));
  const opened = new Map(lids(main).map(([name, each]) => [name, each.open]));
  const [focused] = lids(main).find(([, each]) => each.firstElementChild === document.activeElement) || [];
  main.replaceChildren(...found.querySelector("main").childNodes);
  footer.querySelector("p").replaceWith(found.querySelector("footer p"));
  for (const [name, each] of lids(main)) {
    if (opened.has(name)) each.open = opened.get(name);
    if (name === focused) each.firstElementChild.focus({ preventScroll: true });
  }
  places(main).forEach((each, index) => Object.assign(each, before[index]));
  toEnd(follows ? undefined : read);
  prepare();
}

// Live output is read at its end, and goes on there until somebody scrolls.
function toEnd(top) {
  const output = main.querySelector("pre.live");
  if (output) output.scrollTop = top ?? output.scrollHeight;
}

// What works without a script, too, and better with one.
function prepare() {
  for (const head of main.querySelectorAll("[data-all]")) {
    const all = document.createElement("input");
    const boxes = () => [...head.closest("table").querySelectorAll(`input[name="${head.dataset.all}"]`)];
    all.type = "checkbox";
    all.setAttribute("aria-label", "select all of this page");
    all.addEventListener("change", () => { for (const each of boxes()) each.checked = all.checked; });
    head.replaceChildren(all);
  }
}

// The same words as the server's: rendering.since.
function age(from, at) {
  const seconds = Math.round((at - from) / 1000);
  let rest = Math.abs(seconds);
  const first = UNITS.findIndex(([, size]) => rest >= size);
  const words = UNITS.slice(first, first + 2).map(([unit, size]) => {
    const count = Math.floor(rest / size);
    rest %= size;
    return count ? `${count}${unit}` : "";
  }).join("");
  if (!seconds) return "now";
  return seconds > 0 ? `${words} ago` : `in ${words}`;
}

// Nothing has changed but the time.
function grow(headers) {
  const at = new Date(headers.get("X-At"));
  for (const each of main.querySelectorAll("time.age")) each.textContent = age(new Date(each.dateTime), at);
  const time = document.createElement("time");
  time.textContent = headers.get("X-As-Of");
  footer.querySelector("time").replaceWith(time);
}

async function refresh() {
  const answer = await fetch(location.href, {
    cache: "no-store",
    redirect: "error",
    headers: { "X-Have": [...parts.keys()].join(), ...(tag && { "If-None-Match": tag }) },
  });
  if (answer.status !== 200 && answer.status !== 304) throw new Error(`the page answers ${answer.status}`);
  const text = await answer.text();
  if (isInUse() || isPaused) return;
  if (answer.status === 304) {
    grow(answer.headers);
  } else {
    replace(whole(text));
    tag = answer.headers.get("ETag") || "";
    grow(answer.headers);
  }
  show("");
}

function sayAge() {
  const seconds = Math.round((Date.now() - shownAt) / 1000);
  since.textContent = `Updated ${seconds < 2 ? "just now" : `${age(0, seconds * 1000)}`}.`;
}

async function turn() {
  const asked = Date.now();
  if (!document.hidden && !isPaused && !isIdle() && !isInUse()) {
    try {
      await refresh();
      shownAt = Date.now();
    } catch (error) {
      show(`The server does not answer as it should (${error.message}): this page is old.`);
    }
  } else if (isIdle()) {
    show("Not refreshed: nobody has touched it for ten minutes.");
  } else if (!isPaused && isInUse()) {
    show("Not refreshed while something is selected or filled in.");
  }
  setTimeout(turn, Math.min(LONGEST, Math.max(EVERY, REST * (Date.now() - asked))));
}

const button = document.createElement("button");
const note = document.createElement("span");
const since = document.createElement("span");
button.type = "button";
button.addEventListener("click", () => {
  isPaused = button.textContent === "stop refreshing";
  touchedAt = Date.now();
  show(isPaused ? "Not refreshed: stopped." : "");
});

// Enter in a field that has a button of its own means that button.
main.addEventListener("keydown", (event) => {
  const meant = event.key === "Enter" && event.target.dataset.enter;
  if (!meant) return;
  event.preventDefault();
  event.target.form.querySelector(`button[formaction$="/${meant}"]`).click();
});
prepare();
toEnd();

if (footer) {
  shownAt = Date.now();
  for (const name of ["pointermove", "pointerdown", "keydown", "wheel", "touchstart"]) {
    addEventListener(name, () => { touchedAt = Date.now(); }, { passive: true });
  }
  addEventListener("pointerdown", () => { isPressed = true; });
  for (const name of ["pointerup", "pointercancel", "blur"]) {
    addEventListener(name, () => { isPressed = false; });
  }
  note.setAttribute("role", "status");
  footer.append(since, button, note);
  show("");
  sayAge();
  setInterval(sayAge, 1000);
  setTimeout(turn, EVERY);
}
