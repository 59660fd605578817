// The page's words in two languages, and numbers and dates as each writes them.

import en from "./en.js";
import zh from "./zh.js";

const WORDS = { en, zh };
const LOCALES = { en: "en-GB", zh: "zh-CN" };
let language = "en";

export const current = () => language;

/** The language of the address (`?lang=zh`), else the browser's. */
export function preferred() {
  const asked = new URLSearchParams(location.search).get("lang");
  if (asked in WORDS) return asked;
  return (navigator.languages ?? [navigator.language]).some((one) => /^zh\b/i.test(one)) ? "zh" : "en";
}

/** Put all fixed words of the page into this language. It is kept in the address, and nowhere else. */
export function choose(wanted) {
  language = wanted;
  document.documentElement.lang = LOCALES[language];
  for (const node of document.querySelectorAll("[data-t]")) node.textContent = say(node.dataset.t);
  for (const button of document.querySelectorAll("[data-language]")) {
    button.setAttribute("aria-pressed", String(button.dataset.language === language));
  }
}

/** The words for a key, with `{name}` replaced. */
export function say(key, values = {}) {
  const text = WORDS[language][key];
  if (text === undefined) throw Error(`no words for ${key}`);
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** As `say`, with the form for one where the language has it. */
export function count(key, n) {
  return say(n === 1 ? `${key}One` : key, { n: number(n) });
}

/** Why the prefilter answered, in a sentence. */
export function because(cause) {
  return WORDS[language].causes[cause] ?? cause;
}

/** The language of somebody's text, for who reads it out. */
export const tongue = (text) => (/[\u3400-\u9fff]/.test(text) ? "zh-CN" : "en");

export function number(value, digits = 0) {
  return value.toLocaleString(LOCALES[language], {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

/** With a sign: +0.42, −0.08. */
export function signed(value) {
  return `${value < 0 ? "−" : "+"}${number(Math.abs(value), 2)}`;
}

export function milliseconds(ms) {
  return ms < 1_000 ? `${number(ms, ms < 10 ? 1 : 0)} ms` : `${number(ms / 1e3, ms < 10_000 ? 2 : 1)} s`;
}

export function percent(share) {
  return share.toLocaleString(LOCALES[language], { style: "percent" });
}

/** The day as it was where the memory was made: 2026-03-02T10:12+08:00 is 2 March everywhere. */
export function day(iso) {
  if (!iso) return say("undated");
  const [year, month, date] = iso.slice(0, 10).split("-").map(Number);
  const style = { year: "numeric", month: "short", day: "numeric", timeZone: "UTC" };
  return new Date(Date.UTC(year, month - 1, date)).toLocaleDateString(LOCALES[language], style);
}
