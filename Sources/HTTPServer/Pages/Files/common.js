// SPDX-License-Identifier: Apache-2.0
// What Martlet's pages share: elements, strings and quantities. Texts from outside only ever become text nodes.

/** Returns the element with an identifier. */
export const byID = (id) => document.getElementById(id);

/**
 * Creates an element. Properties that are functions become listeners, names with a dash or `role` attributes, others
 * properties. Children are nodes or texts; missing ones are left out.
 */
export function el(tag, properties = {}, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(properties)) {
		if (value === undefined || value === null) continue;
		if (typeof value === "function") element.addEventListener(name, value);
		else if (name.includes("-") || name === "role" || name === "for") element.setAttribute(name, value);
		else element[name] = value;
	}
	element.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
	return element;
}

let strings = {};
/** The language of the page: one of the available ones. */
export let language = "en";

/** Loads the strings of the language that the browser prefers, from `NAME.LANGUAGE.js`. */
export async function loadStrings(available, name = "strings") {
	const wanted = (navigator.languages ?? [navigator.language]).map((tag) => tag.toLowerCase().split("-")[0]);
	language = wanted.find((tag) => available.includes(tag)) ?? "en";
	strings = (await import(`./${name}.${language}.js`)).default;
	document.documentElement.lang = language === "zh" ? "zh-Hans" : language;
}

/** Returns a text of the page with its `{placeholders}` filled; `key1` replaces `key` if `n` is 1. */
export function t(key, values = {}) {
	const name = values.n === 1 && strings[`${key}1`] ? `${key}1` : key;
	const text = strings[name] ?? key;
	return text.replace(/\{(\w+)\}/g, (_, word) => {
		const value = values[word] ?? "";
		return typeof value === "number" ? number(value) : String(value);
	});
}

/** Fills the elements with `data-t` (text), `data-t-label` (aria-label) and `data-t-hint` (placeholder). */
export function translate(root = document) {
	for (const element of root.querySelectorAll("[data-t]")) element.textContent = t(element.dataset.t);
	for (const element of root.querySelectorAll("[data-t-label]")) {
		element.setAttribute("aria-label", t(element.dataset.tLabel));
	}
	for (const element of root.querySelectorAll("[data-t-hint]")) element.placeholder = t(element.dataset.tHint);
}

const formats = new Map();
function format(key, make) {
	if (!formats.has(key)) formats.set(key, make());
	return formats.get(key);
}

/** Formats a whole number. */
export const number = (value) => format("number", () => new Intl.NumberFormat(language)).format(value);

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
/** Formats a number of bytes with three digits, or with at most the given places. */
export function bytes(count, most) {
	let unit = 0;
	let value = Math.max(0, count ?? 0);
	while (value >= 999.5 && unit < units.length - 1) {
		value /= 1024;
		unit += 1;
	}
	const places = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
	const numbers = format(`${places} ${most}`, () => {
		const minimumFractionDigits = most === undefined ? places : 0;
		return new Intl.NumberFormat(language, { minimumFractionDigits, maximumFractionDigits: most ?? places });
	});
	return `${numbers.format(value)} ${units[unit]}`;
}

/** Formats a rate in bytes per second. */
export const rate = (perSecond) => `${bytes(perSecond)}/s`;

/** Formats a time in seconds: `0:07`, `3:02:01`. */
export function duration(seconds) {
	const whole = Math.max(0, Math.round(seconds));
	const two = (value) => String(value).padStart(2, "0");
	const hours = Math.floor(whole / 3600);
	const rest = `${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
	return hours > 0 ? `${hours}:${rest}` : rest.replace(/^0/, "");
}

/** Formats a time of seconds since 1970. */
export function moment(seconds) {
	const options = { dateStyle: "medium", timeStyle: "medium" };
	return format("moment", () => new Intl.DateTimeFormat(language, options)).format(new Date(seconds * 1000));
}

/** Formats a time of day of seconds since 1970. */
export function clock(seconds) {
	return format("clock", () => new Intl.DateTimeFormat(language, { timeStyle: "short" })).format(seconds * 1000);
}

let toastTimer;
/** Shows a short message, which screen readers announce. */
export function toast(text) {
	byID("toast").textContent = text;
	clearTimeout(toastTimer);
	toastTimer = setTimeout(() => (byID("toast").textContent = ""), 6000);
}

/** Announces a text to screen readers only. */
export function announce(text) {
	byID("announcements").textContent = text;
}

let dialogs = 0;
/** Shows a modal dialog, which is removed when it closes. */
export function dialog(title, content, id) {
	const label = `title${(dialogs += 1)}`;
	const close = () => element.close();
	const element = el(
		"dialog",
		{ id, "aria-labelledby": label, close: () => element.remove() },
		el("div", { className: "head" }, el("h2", { id: label }, title), el("button", { type: "button", click: close }, t("close"))),
		el("div", { className: "body" }, content),
	);
	document.body.append(element);
	element.showModal();
	return element;
}

/** Creates a labelled field of a form. */
export function field(label, input, hint) {
	return el("label", { className: "field" }, el("span", {}, label), input, hint && el("small", {}, hint));
}

/** Creates a checkbox with its label. */
export function check(label, properties) {
	return el("label", { className: "check" }, el("input", { type: "checkbox", ...properties }), label);
}
